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
    warnings: NotRequired[Annotated[list[str], "For a job: parts of its file that would have no effect."]]
    received: NotRequired[Annotated[int | None, "For an upload at a wrong offset: how many bytes the server has."]]
    mayHaveHappened: NotRequired[
        Annotated[bool, "For 503: the request may have been carried out. Repeat it with the same Idempotency-Key."]
    ]
    capability: NotRequired[Annotated[str | None, "For `not-offered`: what the cluster cannot do."]]
    cluster: NotRequired[Annotated[str | None, "For `not-offered`: the cluster."]]
