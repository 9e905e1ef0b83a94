"""Programs that run inside a peer's own virtualenv and drive it through its own Python client.

Each answers JSON lines on standard output to JSON lines on standard input (see `serving`), so that the clock
before a client call is read beside that call and not on the other side of a pipe.
"""
