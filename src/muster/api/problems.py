"""Errors, as the API answers them: `application/problem+json`."""

from typing import Annotated, NotRequired, TypedDict


class ProblemItem(TypedDict):
    path: str
    message: str
    hint: str
    line: int | None


class ProblemOut(TypedDict):
    """What went wrong, in the form of RFC 9457, with a stable `code` and what to do next."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: NotRequired[str]
    problems: NotRequired[list[ProblemItem]]
    warnings: NotRequired[Annotated[list[str], "The parts of a job's file that would have no effect."]]
    received: NotRequired[Annotated[int | None, "How many bytes the server has, after an upload at a wrong offset."]]
    mayHaveHappened: NotRequired[
        Annotated[bool, "For 503: the request may have been carried out. Repeat it with the same Idempotency-Key."]
    ]
    capability: NotRequired[Annotated[str | None, "What the cluster cannot do, with the code `not-offered`."]]
    cluster: NotRequired[Annotated[str | None, "The cluster, with the code `not-offered`."]]
