"""The PATH and command of a task that runs in a virtual or conda environment on the node.

Images are handled by `containers`.
"""

from pathlib import PurePosixPath

from muster.domain.errors import Invalid
from muster.domain.specs import Runtime

# The node's own PATH is not known here, and a task must not depend on the account that started the server.
BASE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# The task itself checks this, not the agent: the environment may be on a file server that hangs.
_GUARD = r"""
[ -d "$0/bin" ] || { echo "muster: there is no environment $0 on this node" >&2; exit 127; }
[ -x "$0/bin/python" ] || [ ! -L "$0/bin/python" ] || {
  echo "muster: the Python of the environment $0 is gone: bin/python leads nowhere" >&2
  exit 127
}
exec "$@"
"""


# Does what `conda activate` does: sets the variables of `conda env config vars`, then runs the scripts of packages,
# which are written for bash. What the job sets itself stays. A script that returns a failure is ignored, as conda does;
# one that ends the shell ends the task.
_ACTIVATION = r"""
prefix=$0
for python in "$prefix/bin/python" python3 ""; do
  [ -z "$python" ] || ! command -v "$python" >/dev/null 2>&1 || break
done
if [ -n "$python" ]; then
  variables=$("$python" -I -c '
import glob, json, os, shlex, sys
prefix, found = sys.argv[1], {}
def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
for path in sorted(glob.glob(os.path.join(glob.escape(prefix), "etc", "conda", "env_vars.d", "*.json"))):
    found.update(read(path))
state = os.path.join(prefix, "conda-meta", "state")
if os.path.isfile(state):
    found.update(read(state).get("env_vars") or {})
for name, value in found.items():
    if name not in os.environ and name.isidentifier() and value != "***unset***":
        print("export {}={}".format(name, shlex.quote(str(value))))
' "$prefix") || {
    echo "muster: the activation of the environment $prefix failed: its variables cannot be read" >&2
    exit 1
  }
  eval "$variables"
fi
unset python variables
for _muster_script in "$prefix"/etc/conda/activate.d/*.sh; do
  [ -f "$_muster_script" ] || continue
  trap '_muster_code=$?
    echo "muster: the activation of the environment $0 failed: $_muster_script ended with exit code $_muster_code" >&2
    [ "$_muster_code" != 0 ] || exit 1' EXIT
  . "$_muster_script" || echo "muster: $_muster_script returned $?" >&2
  trap - EXIT
done
unset _muster_script _muster_code prefix
exec "$@"
"""
_CONDA = r"""
[ -d "$0/etc/conda" ] || [ -f "$0/conda-meta/state" ] || { shift; exec "$@"; }
script=$1
shift
exec "$(command -v bash || echo /bin/sh)" -c "$script" "$0" "$@"
"""


def runtime_environment(runtime: Runtime, conda_root: str | None) -> dict[str, str]:
    if runtime.venv:
        return {"PATH": _path(runtime.venv), "VIRTUAL_ENV": runtime.venv}
    if runtime.conda:
        prefix = conda_prefix(runtime.conda, conda_root)
        return {"PATH": _path(prefix), "CONDA_PREFIX": prefix, "CONDA_DEFAULT_ENV": runtime.conda, "CONDA_SHLVL": "1"}
    return {}


def runtime_command(runtime: Runtime, conda_root: str | None, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command, wrapped so that it fails if the environment is missing. Otherwise the node's own Python, which comes
    next on the PATH, would run it unnoticed."""
    if not runtime.venv and not runtime.conda:
        return command
    if runtime.venv:
        return ("/bin/sh", "-c", _GUARD, runtime.venv, *command)
    prefix = conda_prefix(runtime.conda or "", conda_root)
    return ("/bin/sh", "-c", _GUARD, prefix, *conda_activation(prefix), *command)


def conda_activation(prefix: str) -> tuple[str, ...]:
    """The words before a command that activate the environment for it."""
    return ("/bin/sh", "-c", _CONDA, prefix, _ACTIVATION)


def conda_prefix(conda: str, conda_root: str | None) -> str:
    """The prefix of a conda environment. An absolute path stays as it is; a name is resolved as conda does it."""
    if PurePosixPath(conda).is_absolute():
        return conda
    if conda_root is None:
        raise Invalid(
            f"runtime.conda: the cluster has no conda installation in which to find {conda!r}",
            hint="write the absolute path of the environment, or ask an admin to set `conda` in the cluster file",
        )
    return conda_root if conda == "base" else str(PurePosixPath(conda_root) / "envs" / conda)


def _path(prefix: str) -> str:
    return f"{prefix}/bin:{BASE_PATH}"
