"""The templates that Muster has, as commands find them."""

from muster.cli.failures import Failure
from muster.lib.nearest import nearest
from muster.templates.catalogue import DESCRIPTIONS, template_files

JOB_FILE = "job.yaml"
DEFAULT = "single"


def built_in_files(name: str) -> dict[str, str]:
    """Returns the texts of a template by their paths. Raises Failure, with the closest name, if there is none."""
    if name not in DESCRIPTIONS:
        guess = nearest(name, list(DESCRIPTIONS))
        said = f"did you mean {guess}?" if guess else "`muster init --list` lists them"
        raise Failure(f"there is no built-in template {name!r}", hint=said)
    return template_files(name)
