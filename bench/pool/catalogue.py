"""All questions about pools of machines, in the order of the table."""

from bench.pool import gangs, many_nodes, remote_logs, remote_start, shipping

CASES = (remote_start.CASE, gangs.CASE, remote_logs.CASE, shipping.CASE, many_nodes.CASE, many_nodes.LARGE_CASE)
