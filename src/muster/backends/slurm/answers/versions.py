"""What a release of Slurm offers."""

import re

_JSON_SINCE = (23, 11)
"""Older ones print all jobs of the cluster as JSON, whichever were asked for."""


def offers_json(version: str) -> bool:
    """Whether its squeue prints those jobs as JSON that it is asked for. `version` is what `sbatch --version` prints:
    `slurm 23.11.4`, or `slurm-wlm 22.05.8` on Debian."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= _JSON_SINCE
