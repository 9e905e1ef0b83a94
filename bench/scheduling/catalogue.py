"""All questions about the scheduler by itself, in the order of the table."""

from bench.scheduling import exactness, speed

CASES = (exactness.CASE, speed.CASE)
