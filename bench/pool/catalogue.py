"""All questions about pools of machines, in the order of the table."""

from bench.pool import many_nodes

CASES = (many_nodes.CASE,)
