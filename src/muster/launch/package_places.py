"""A package that lies in a folder of the cluster: the tasks work there, and nothing is copied.

The task itself enters the folder, under its own account and in its own isolation: the folder may be on a file server
that is away, and only the task knows what its account may enter.
"""

from muster.domain.specs import JobSpec

_NAME = "muster-package"
_ENTER = """
cd -- "$1" || { echo "muster: the package $1 cannot be entered on this node" >&2; exit 126; }
shift
exec "$@"
"""


def package_command(spec: JobSpec, command: tuple[str, ...]) -> tuple[str, ...]:
    place = spec.package_place
    return command if place is None else ("/bin/sh", "-c", _ENTER, _NAME, place.path, *command)


def package_variables(spec: JobSpec, given: str | None) -> dict[str, str]:
    """`given` is the PYTHONPATH of the job itself, which comes after the package."""
    place = spec.package_place
    return {} if place is None else {"PYTHONPATH": f"{place.path}:{given}" if given else place.path}
