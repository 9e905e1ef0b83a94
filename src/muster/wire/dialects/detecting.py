"""The dialects of job files, and which of them a document is written in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.domain.errors import Invalid
from muster.wire.dialects.dstack import dstack_task
from muster.wire.dialects.kubeflow import kubeflow_jobs, trainjob
from muster.wire.dialects.kubernetes import kubejob, kubepod
from muster.wire.dialects.openpai import protocol, protocol_json
from muster.wire.dialects.other_formats import OtherFormat, named, named_for_certain
from muster.wire.dialects.paddle import cluster_train, paddlecloud, paddlejob
from muster.wire.dialects.skypilot import skypilot_task
from muster.wire.dialects.slurm import sbatch
from muster.wire.dialects.translation import Translation
from muster.wire.dialects.volcano import volcano_job
from muster.wire.documents import Document
from muster.wire.spec_schema import JobSpecIn

_OWN_KEYS = {field.alias or name for name, field in JobSpecIn.model_fields.items()}
_NAMED = 8
"""The most keys of an unknown document that an error repeats."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A foreign kind of job file. Other distributions offer theirs as entry points of the group `muster.dialects`."""

    name: str
    title: str
    """What such files are called in a sentence: Muster takes its own specs and these."""
    recognizes: Callable[[Mapping[str, Any]], bool]
    """Whether a document is written in it. Never raises, whatever the document is."""
    translate: Callable[[Document], Translation]
    states: Mapping[str, str] = field(default_factory=dict)
    """What the other system calls each state of a job."""
    is_script: bool = False
    """Whether its files are scripts. All of them are then written in it, and `recognizes` is not asked."""


def _is_openpai(data: Mapping[str, Any]) -> bool:
    return str(data.get("protocolVersion")) == "2"


DIALECTS = (
    Dialect("paddlejob", "PaddleJobs", paddlejob.recognizes, paddlejob.translate, paddlejob.STATES),
    Dialect("kubeflow", "jobs of Kubeflow", kubeflow_jobs.recognizes, kubeflow_jobs.translate, kubeflow_jobs.STATES),
    Dialect("trainjob", "TrainJobs", trainjob.recognizes, trainjob.translate, trainjob.STATES),
    Dialect("volcano", "Jobs of Volcano", volcano_job.recognizes, volcano_job.translate, volcano_job.STATES),
    Dialect("kubejob", "Jobs of Kubernetes", kubejob.recognizes, kubejob.translate, kubejob.STATES),
    Dialect("kubepod", "Pods", kubepod.recognizes, kubepod.translate, kubepod.STATES),
    Dialect("openpai", "OpenPAI jobs of protocol 2", _is_openpai, protocol.translate, protocol.STATES),
    Dialect(
        "openpai-1", "OpenPAI jobs of protocol 1", protocol_json.recognizes, protocol_json.translate, protocol.STATES
    ),
    Dialect("paddlecloud", "jobs of paddlecloud", paddlecloud.recognizes, paddlecloud.translate),
    Dialect("cluster-train", "jobs of paddle cluster_train", cluster_train.recognizes, cluster_train.translate),
    Dialect("sbatch", "batch scripts of Slurm", lambda data: False, sbatch.translate, sbatch.STATES, is_script=True),
    Dialect("skypilot", "SkyPilot tasks", skypilot_task.recognizes, skypilot_task.translate, skypilot_task.STATES),
    Dialect("dstack", "dstack tasks", dstack_task.recognizes, dstack_task.translate, dstack_task.STATES),
)
"""Those that Muster has itself."""


def translate(document: Document, dialects: Sequence[Dialect] = DIALECTS) -> Translation | None:
    """Returns None for a Muster spec, which needs none. Raises Invalid for a document that no dialect here reads."""
    data = document.data
    if document.is_script:
        return next(dialect for dialect in dialects if dialect.is_script).translate(document)
    if not isinstance(data, dict):
        return None
    is_own = "roles" in data or "command" in data
    dialect = None if is_own else next((one for one in dialects if not one.is_script and one.recognizes(data)), None)
    if dialect is not None:
        return dialect.translate(document)
    other = named_for_certain(data) if is_own else named(data)
    if other is not None:
        raise refusal_of(other, dialects, _place(document))
    if data and not is_own and not data.keys() & _OWN_KEYS:
        some = ", ".join(list(map(str, data))[:_NAMED])
        raise Invalid(
            f"{_place(document)}this is no job: none of its keys ({some}) is one of a job", hint=_taken(dialects)
        )
    return None


def refusal_of(other: OtherFormat, dialects: Sequence[Dialect], place: str = "") -> Invalid:
    hint = f"{other.instead}. {_taken(dialects)}"
    return Invalid(f"{place}this looks like {other.what}, which Muster does not read", hint=hint)


def _place(document: Document) -> str:
    """Where the document is, if others stand before it in the file."""
    line = document.lines.get((), 1)
    return f"line {line}: " if line > 1 else ""


def _taken(dialects: Sequence[Dialect]) -> str:
    *titles, last = (one.title for one in dialects)
    return f"Muster takes its own specs, {', '.join(titles)} and {last}"
