"""What nodes and tasks use, as the API answers it."""

from typing import Annotated, Any, TypedDict

from muster.api.nodes import NodeOut


class TaskUsageOut(TypedDict):
    task: str
    job: str
    owner: str
    node: str
    cpuPercent: float | None
    rssBytes: int
    processes: Annotated[int | None, "null where it is not measured."]


class UsageOut(TypedDict):
    nodes: list[NodeOut]
    tasks: list[TaskUsageOut]


class UsageSample(TypedDict):
    """Rates and percentages are measured since the previous sample. What is not reported is null or absent."""

    at: str
    cpuPercent: float
    perCore: list[float]
    load1: float
    memoryTotalBytes: int
    memoryUsedBytes: int
    diskTotalBytes: int
    diskUsedBytes: int
    net: Annotated[list[dict[str, Any]], "Each link that is up: name, speedMbit, rxBytesS, txBytesS …"]
    gpus: Annotated[list[dict[str, Any]], "Each GPU: load, memoryUsedBytes, temperatureC, powerW …"]


class UsageHistory(TypedDict):
    node: str
    items: Annotated[list[UsageSample], "The oldest sample first; about five minutes are kept."]
