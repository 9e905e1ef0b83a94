"""All questions about Muster, in the order of the table."""

from bench.muster import (
    bulk,
    commands,
    comparing,
    cost,
    demo,
    following,
    idling,
    log_records,
    open_pages,
    paging,
    scaling,
    starting,
    sustained,
    sweeping,
    throughput,
)

CASES = (
    starting.CASE,
    throughput.CASE,
    cost.CASE,
    bulk.CASE,
    sweeping.CASE,
    sustained.CASE,
    paging.CASE,
    following.CASE,
    open_pages.CASE,
    idling.CASE,
    scaling.CASE,
    commands.CASE,
    comparing.CASE,
    log_records.CASE,
)
OPTIONAL = (demo.CASE,)
