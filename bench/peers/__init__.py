"""The systems Muster is measured against, each behind the one Protocol in `peer`.

A peer is installed on first use, runs from a folder of its own and is gone when it was stopped. What cannot be
had on this machine is named with the reason; it is never left out in silence.
"""
