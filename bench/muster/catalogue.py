"""All questions about Muster, in the order of the table."""

from bench.muster import bulk, commands, cost, demo, following, idling, paging, scaling, starting, sustained, throughput

CASES = (
    starting.CASE,
    throughput.CASE,
    cost.CASE,
    bulk.CASE,
    sustained.CASE,
    paging.CASE,
    following.CASE,
    idling.CASE,
    scaling.CASE,
    commands.CASE,
)
OPTIONAL = (demo.CASE,)
