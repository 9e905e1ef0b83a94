"""Whether a partition lets a job run for as long as it asks. Slurm takes one that is too long, and never starts it."""

from collections.abc import Iterable, Sequence

from muster.backends.slurm.answers.node_tables import PartitionRecord
from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.sbatch_options import asked_minutes
from muster.domain.errors import Problem
from muster.domain.specs import JobSpec
from muster.lib.quantities import format_duration
from muster.wire.dialects.slurm.options import long_option

_DECIDING = frozenset(("time", "time-min", "partition", "qos"))
"""If `options` has one of these, the job's own limit, partition or QoS does not decide."""

_DEFAULT = "default"
"""The virtual cluster for jobs that name none."""


def time_limit_problems(
    spec: JobSpec, options: SlurmOptions, cluster: str, partitions: Sequence[PartitionRecord]
) -> list[Problem]:
    """A job that names the physical cluster may go to the default virtual one: it is refused if it fits neither."""
    named = spec.cluster or cluster
    places = [named] if named in options.virtual else [named, _DEFAULT]
    found = [time_limit_problem(spec, options.submit_settings(place), partitions) for place in places]
    return [] if None in found else [one for one in found[:1] if one is not None]


def time_limit_problem(
    spec: JobSpec, settings: SubmitSettings, partitions: Sequence[PartitionRecord]
) -> Problem | None:
    """Returns None also if it cannot be known: a QoS may lift the limit of a partition."""
    if not spec.time_limit_s or settings.qos or _decides(settings.options):
        return None
    named = settings.partition.split(",") if settings.partition else None
    used = [one for one in partitions if (one.name in named if named is not None else one.is_default)]
    longest = max((float("inf") if one.max_time_s is None else one.max_time_s for one in used), default=float("inf"))
    asked_s = asked_minutes(spec) * 60
    if asked_s <= longest:
        return None
    names = ", ".join(one.name for one in used)
    most_s = longest - (asked_s - spec.time_limit_s)
    message = (
        f"the job asks Slurm for {format_duration(asked_s)} with its grace period and a minute to spare, and "
        f"the partition {names} gives at most {format_duration(longest)}"
    )
    hint = f"at most {format_duration(most_s)}, or another virtual cluster" if most_s > 0 else "another virtual cluster"
    return Problem("timeLimit", message, hint)


def _decides(options: Iterable[str]) -> bool:
    names = (option[2:].partition("=")[0] for option in options)
    return any(one.name in _DECIDING for name in names for one in long_option(name))
