"""The core of Muster: values, state machines, events and errors.

Frozen dataclasses and pure functions over them belong here. IO, clocks, environment variables, randomness, pydantic
and SQL do not. An instant is a float (seconds since the epoch, UTC) and is always passed in as an argument.
"""
