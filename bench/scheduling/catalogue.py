"""All questions about the scheduler by itself, in the order of the table."""

from bench.scheduling import exactness, packing, quality, sharing, speed

CASES = (exactness.CASE, quality.CASE, sharing.CASE, packing.CASE, speed.CASE)
