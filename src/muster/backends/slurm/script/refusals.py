"""Which keys of the job file and the cluster file lead to what Slurm says when it refuses a job."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    pattern: re.Pattern[str]
    job: tuple[str, ...] = ()
    """Keys of the job file."""
    cluster: tuple[str, ...] = ()
    """Keys of the cluster file, and of its virtual clusters."""


def _row(pattern: str, job: str = "", cluster: str = "") -> Cause:
    return Cause(re.compile(pattern, re.IGNORECASE), tuple(job.split()), tuple(cluster.split()))


CAUSES: tuple[Cause, ...] = (
    _row(r"invalid feature specification", "where.labels", "constraint"),
    _row(r"invalid partition|partition name", cluster="partition"),
    _row(r"invalid account or account/partition", cluster="account partition"),
    _row(r"invalid qos", cluster="qos"),
    _row(r"reservation", cluster="reservation"),
    _row(r"unrecognized option|invalid option|requires an argument|is ambiguous", cluster="options"),
    _row(r"invalid node name", "where.notNodes", "options"),
    _row(r"\(gres\)|--gpus", "resources.gpu resources.gpuType", "gpuModels options"),
    # Slurm's words for this speak of limits of time, too.
    _row(r"accounting/qos policy|qos.*limit|limit.*qos", "resources timeLimit", "account qos"),
    _row(r"time limit", "timeLimit", "partition"),
    _row(r"memory specification", "resources.memory", "partition"),
    _row(r"node count specification|more processors requested", "replicas resources.cpu where.spread", "partition"),
    _row(r"not permitted to use this partition|access/permission denied", cluster="partition account"),
    _row(
        r"requested node configuration is not available",
        "resources resources.gpuType where.labels where.notNodes",
        "partition constraint",
    ),
)


def cause_of(said: str) -> Cause | None:
    return next((row for row in CAUSES if row.pattern.search(said)), None)


def explained(sentence: str) -> str:
    """The sentence about a refusal, with the keys that lead to it where they are known."""
    cause = cause_of(sentence)
    if cause is None:
        return sentence
    places = [
        *([f"{_either(cause.job)} in the job file"] if cause.job else []),
        *([f"{_either(cause.cluster)} in the cluster file"] if cause.cluster else []),
    ]
    return f"{sentence.rstrip('.')} (see {', or '.join(places)})"


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
