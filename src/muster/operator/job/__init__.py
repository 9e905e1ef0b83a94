"""A PaddleJob and what exists of it: what was asked for, its pods, their variables and phases, and the actions that the
API server understands. It does no IO and reads no clock."""
