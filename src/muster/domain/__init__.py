"""What Muster is about: values, state machines, events, errors.

Belongs here: frozen dataclasses and pure functions over them. Does not belong here: IO, clocks, environment,
randomness, pydantic, SQL. An instant is a float (seconds since the epoch, UTC) and always an argument.
"""
