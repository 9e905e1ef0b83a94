"""All questions about the scheduler by itself, in the order of the table."""

from bench.scheduling import exactness, quality, speed

CASES = (exactness.CASE, quality.CASE, speed.CASE)
