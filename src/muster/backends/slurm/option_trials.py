"""Whether Slurm takes the options that jobs are submitted with: those of the cluster file, and of its virtual clusters.

`sbatch --test-only` tries them without a job. What it refuses is told with the key of the file that leads to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.refusals import cause_of
from muster.backends.slurm.script.sbatch_options import component_settings

_KEYS = ("partition", "account", "qos", "constraint", "reservation", "options")


@dataclass(frozen=True, slots=True)
class Trial:
    cluster: str
    """The virtual cluster whose settings they are. Empty: those of the file itself."""
    settings: SubmitSettings
    own: SubmitSettings
    """What the file says in that place."""

    @property
    def options(self) -> list[str]:
        constraint = [f"--constraint={self.settings.constraint}"] if self.settings.constraint else []
        return [*component_settings(self.settings), *constraint]

    def refusal(self, said: str) -> str:
        """The sentence about what Slurm said, with the keys that it may be about."""
        words = " ".join(said.removeprefix("sbatch: error: ").removeprefix("allocation failure: ").split())
        cause = cause_of(words)
        named = [key for key in (cause.cluster if cause is not None else _KEYS) if getattr(self.settings, key, None)]
        places = ", ".join(map(self._place, named)) or "the options of jobs"
        return f"{places}: Slurm refuses a job with {' '.join(self.options) or 'no options'}: {words.rstrip('.')}"

    def _place(self, key: str) -> str:
        is_own = self.cluster and getattr(self.own, key)
        return f"virtualClusters.{self.cluster}.{key}" if is_own else key


def trials(options: SlurmOptions) -> Iterator[Trial]:
    """One for each set of options that differs from those before it."""
    tried: list[list[str]] = []
    places = {"": options.submit, **options.virtual}
    for cluster, own in places.items():
        trial = Trial(cluster, options.submit_settings(cluster) if cluster else options.submit, own)
        if trial.options not in tried:
            tried.append(trial.options)
            yield trial
