"""The job that is a notebook: Jupyter in a task, which lets in only Muster's proxy, and ends when nobody uses it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AUTH_FILE = "notebook-auth"
LABEL = "notebook"
_SCRIPT = r"""
folder=$1 idle=$2
umask 077
secret=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
printf 'token %s' "$secret" > "$MUSTER_TASK_DIR/$MUSTER_PROXY_AUTH_FILE"
export JUPYTER_TOKEN="$secret"
umask 022
if command -v jupyter-lab >/dev/null 2>&1; then
  set -- jupyter-lab
elif command -v jupyter-notebook >/dev/null 2>&1; then
  set -- jupyter-notebook
else
  echo "Jupyter is not installed in the environment of this job." >&2
  echo "Choose one that has it (muster env list), or install it there: pip install jupyterlab" >&2
  exit 1
fi
if [ -n "$folder" ]; then cd "$folder" || exit 1; fi
if [ "$idle" -gt 0 ]; then
  often=$((idle > 120 ? 60 : idle / 2 + 1))
  set -- "$@" --ServerApp.shutdown_no_activity_timeout="$idle" \
    --MappingKernelManager.cull_idle_timeout="$idle" --MappingKernelManager.cull_interval="$often" \
    --MappingKernelManager.cull_connected=True \
    --TerminalManager.cull_inactive_timeout="$idle" --TerminalManager.cull_interval="$often"
fi
exec "$@" --no-browser --allow-root --ServerApp.ip=127.0.0.1 --ServerApp.port="$MUSTER_PORT_0" \
  --ServerApp.port_retries=0 --ServerApp.allow_remote_access=True --ServerApp.root_dir="$PWD"
"""
"""Arguments: a folder, or nothing; after how many seconds without use it ends. The secret is in no argument, and in no
listing: only this account reads the file. Jupyter does not print a token that it was given. Hosts of requests are
checked by Muster, so that Jupyter need not do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookOptions:
    name: str
    folder: str = ""
    idle_s: float = 3600.0
    """0: it never ends by itself."""
    gpu: float | None = None
    gpu_type: str | None = None
    cpu: str | None = None
    memory: str | None = None
    cluster: str | None = None
    runtime: Mapping[str, str] = field(default_factory=dict)
    time_limit: str | None = None


def notebook_spec(asked: NotebookOptions) -> dict[str, Any]:
    """Notebooks in a folder of the node stay there. Those in the folder of the task are collected when it ends."""
    wanted = {"gpu": asked.gpu, "gpuType": asked.gpu_type, "cpu": asked.cpu, "memory": asked.memory}
    resources = {key: value for key, value in wanted.items() if value is not None}
    spec: dict[str, Any] = {
        "name": asked.name,
        "framework": "plain",
        "command": ["sh", "-c", _SCRIPT, "notebook", asked.folder, str(int(asked.idle_s))],
        "ports": 1,
        "env": {"MUSTER_PROXY_AUTH_FILE": AUTH_FILE},
        "labels": {LABEL: "jupyter"},
    }
    if not asked.folder:
        spec["outputs"] = ["*.ipynb"]
    more = {"resources": resources, "cluster": asked.cluster, "runtime": dict(asked.runtime)}
    return {**spec, **{key: value for key, value in {**more, "timeLimit": asked.time_limit}.items() if value}}
