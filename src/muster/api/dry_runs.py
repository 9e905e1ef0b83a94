"""What would be started, as the API answers it before anything is submitted."""

from typing import Annotated, Literal, TypedDict

from muster.api.explanations import ReasonOut
from muster.api.jobs import JobOut, RenderedFileOut, RequestOut


class DryRunOut(TypedDict):
    job: JobOut
    requests: list[RequestOut]
    files: Annotated[list[RenderedFileOut], "What an engine such as Slurm would be given; none where Muster places."]
    warnings: list[str]
    reasons: Annotated[list[ReasonOut], "Why it would wait; none if it would start at once, or if that is not known."]
    startsAt: Annotated[
        str | None,
        "When it is likely to start if it is submitted now; null if that is not known or cannot be found out quickly.",
    ]
    startsBy: Annotated[
        str | None,
        "When it starts if jobs run to their time limits, or as long as nearly all similar ones did, if that is known.",
    ]
    placement: Annotated[
        Literal["now", "alone", "engine"],
        "What the nodes and devices of the requests are: those that it would get now; those that it would have if no "
        "other job ran, since it would wait; or those that the engine of the cluster will choose.",
    ]
