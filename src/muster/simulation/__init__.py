"""Replays jobs through the very scheduler that the server uses, in virtual time.

Belongs here: traces, the clock that jumps from event to event, what came of it in numbers and pictures. Does not belong
here: any decision about who runs where; that is `scheduling`, and it is the same code.
"""
