"""Why a job waits, runs or failed, as the API answers it."""

from typing import Annotated, Any, TypedDict

from muster.api.jobs import JobStateName


class ReasonOut(TypedDict):
    code: str
    message: str
    change: str
    numbers: dict[str, Any]


class FaultOut(TypedDict):
    kind: str
    code: str
    cause: str
    advice: str
    task: str | None
    exitCode: int | None
    signal: int | None
    retryable: bool
    words: Annotated[dict[str, str], "The names and figures in the cause, for pages that say it in another language."]


class AttemptOut(TypedDict):
    attempt: int
    startedAt: str | None
    endedAt: str | None
    outcome: str
    stoppedBecause: Annotated[
        str, "Why it was stopped, such as by which job it was preempted; empty if it ended by itself."
    ]


class WhatIfOut(TypedDict):
    """The reasons and the estimated start that the job would have with these changes."""

    changes: dict[str, Any]
    reasons: list[ReasonOut]
    startsAt: str | None
    startsBy: str | None


class ExplainOut(TypedDict):
    job: str
    state: JobStateName
    summary: str
    reasons: list[ReasonOut]
    fault: FaultOut | None
    evidence: list[str]
    attempts: list[AttemptOut]
    next: str
    startsAt: Annotated[str | None, "When a waiting job is likely to start, if that is known."]
    startsBy: Annotated[
        str | None,
        "When it starts if jobs run to their time limits, or as long as nearly all similar ones did, if that is known.",
    ]
    whatIf: WhatIfOut | None
