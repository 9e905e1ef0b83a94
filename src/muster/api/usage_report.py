"""Reports of what was used in a window of time, as the API answers them."""

from typing import Annotated, TypedDict


class ReportLineOut(TypedDict):
    group: Annotated[str, "The user, virtual cluster, node or cluster; empty in the total."]
    jobs: Annotated[int, "Jobs that ran or ended in the window. By node, a job counts on each of its nodes."]
    gpuHours: Annotated[float, "The hours for which GPUs were allocated to tasks that ran."]
    idleGpuHours: Annotated[float, "Those of GPUs that were less busy on average than `idleBelow`."]
    unmeasuredGpuHours: Annotated[float, "Those of GPUs of which nobody knows how busy they were."]
    gpuPercent: Annotated[float | None, "How busy the GPUs were on average that were measured."]
    cpuHours: Annotated[float, "The core hours that were asked for by tasks that ran."]
    usedCpuHours: float
    medianWaitS: Annotated[
        float | None, "The time from submission to the first start, of jobs that first started in the window."
    ]
    p95WaitS: float | None
    failures: Annotated[dict[str, int], "Jobs that failed in the window, by the kind of their fault."]
    slowness: Annotated[
        float | None,
        "By node: how long its tasks ran, compared with the median of the same role of the same jobs; 1.2 is a fifth"
        " longer. Null in other reports, and on nodes that shared no role with another.",
    ]


class ReportOut(TypedDict):
    since: str
    until: str
    by: str
    idleBelow: float
    onlyOwn: Annotated[bool, "Only the caller's own jobs are counted; admins see those of everybody."]
    items: list[ReportLineOut]
    total: ReportLineOut
