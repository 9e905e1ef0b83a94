"""Alerts, as the API answers them."""

from typing import Annotated, Any, Literal, TypedDict

SeverityName = Literal["critical", "warning", "info"]
SubjectTypeName = Literal["node", "gpu", "cluster", "job", "server"]
AlertKindName = Literal[
    "node-unreachable",
    "node-held",
    "node-problem",
    "node-disk",
    "gpu-out-of-service",
    "cluster-unreachable",
    "cluster-file",
    "job-needs-action",
    "idle-allocation",
    "kept-data",
    "server-disk",
    "server-held",
    "log-server",
]


class AlertSubjectOut(TypedDict):
    type: SubjectTypeName
    name: Annotated[str, "A GPU is `NODE/INDEX`; for `cluster-file` it is the name of the file."]
    cluster: Annotated[str | None, "The cluster that it belongs to."]
    id: Annotated[str | None, "The id of a job."]


class AlertOut(TypedDict):
    id: Annotated[str, "It stays the same as long as the alert lasts."]
    severity: SeverityName
    kind: Annotated[AlertKindName, "Stable, for pages that say it in another language, together with `numbers`."]
    subject: AlertSubjectOut
    message: Annotated[str, "What is wrong, in one sentence."]
    advice: Annotated[str, "What to do about it."]
    since: Annotated[str | None, "When it began, if that is known."]
    concernsMe: Annotated[bool, "Whether it concerns your jobs, or something that you look after as an admin."]
    numbers: Annotated[dict[str, Any], "The figures and names in the message."]


class AlertCounts(TypedDict):
    critical: int
    warning: int
    info: int
    concerningMe: int


class AlertList(TypedDict):
    items: list[AlertOut]
    total: Annotated[int, "How many there are; no more than `limit` are answered."]
    counts: AlertCounts
