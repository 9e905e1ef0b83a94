"""What the job files of other systems leave to the command that submits them: the folder to send and the job's name.

The server translates the files. Here only that is read which it cannot know: paths on this machine.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.lib.script_texts import is_script

_NAMED = re.compile(r"^name[ \t]*:|^#SBATCH[ \t](?:.*[ \t])?(?:-J|--j)", re.MULTILINE)
_TASK = re.compile(r"^(?:run[ \t]*:|type[ \t]*:[ \t]*['\"]?task\b)", re.MULTILINE)
_SKY = re.compile(r"^(?:run|setup|num_nodes|file_mounts|resources|envs)[ \t]*:", re.MULTILINE)
_NOT_SKY = re.compile(
    r"^(?:command|roles|runtime|replicas|package|framework|cluster|kind|type|protocolVersion|jobs|apiVersion)[ \t]*:",
    re.MULTILINE,
)
_PARALLEL = re.compile(r"^execution[ \t]*:[ \t]*['\"]?parallel", re.MULTILINE)
_PADDLECLOUD_STORAGE = re.compile(r"/+pfs/+[^/]+/+(?:home|public)(?:/.*)?", re.DOTALL)
_REMOTE = re.compile(r"[a-z+]+://|git@", re.IGNORECASE)


def default_name(text: str, file: PurePath) -> str:
    """The name of a job whose file gives it none, as its own system would have it; empty if the file names it, or is
    not such a file."""
    if not file.name or _NAMED.search(text) or not (is_script(text) or _TASK.search(text)):
        return ""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", file.name.split(".")[0]).strip("._-")[:63]


def folder_of_script(here: Path) -> str | None:
    """A script of Slurm runs in the folder from which it is submitted. A home folder is never sent: it is large, and
    what is in it is nobody's business."""
    return None if here in (Path.home(), Path(here.anchor)) else str(here)


def folder_of_task(document: Mapping[str, Any], beside: Path) -> str | None:
    """The folder that a SkyPilot task calls its workdir, from here, or the only local folder of a dstack task or the
    package of a job of paddlecloud, from its file."""
    if document.get("type") == "task":
        given = [*_items(document.get("repos")), *_items(document.get("files"))]
        local = [str(one) for one in given if isinstance(one, str) and not _REMOTE.match(one)]
        plain = [one.partition(":")[0] for one in local]
        return str(_absolute(plain[0], beside)) if len(given) == len(plain) == 1 else None
    package = document.get("jobPackage")
    if isinstance(package, str) and package and not _PADDLECLOUD_STORAGE.fullmatch(package):
        return str(_absolute(package, beside))
    workdir = document.get("workdir")
    is_sky = isinstance(workdir, str) and "command" not in document and "roles" not in document
    return str(_absolute(workdir, Path.cwd())) if is_sky and isinstance(workdir, str) else None


def is_sky_task(text: str) -> bool:
    return bool(_SKY.search(text)) and not _NOT_SKY.search(text)


def chained(documents: list[str], file: PurePath) -> list[tuple[str, dict[str, Any]]]:
    """The tasks of a SkyPilot pipeline, each with the changes that make it wait for the one before it. A first document
    that has only a name is that of the pipeline."""
    tasks = [one for one in documents if is_sky_task(one)]
    headers = [one for one in documents if one not in tasks]
    pipeline = next((name for one in headers if (name := _name_in(one))), "") or file.name.split(".")[0]
    is_parallel = any(_PARALLEL.search(one) for one in headers)
    found: list[tuple[str, dict[str, Any]]] = []
    before = ""
    named = [name for one in tasks if (name := _name_in(one))]
    if repeated := next((name for place, name in enumerate(named) if name in named[:place]), ""):
        message = f"two tasks of the pipeline are called {repeated}"
        raise MusterError(message, code=BAD_INPUT, hint="give each task a name of its own")
    for place, text in enumerate(tasks):
        changes: dict[str, Any] = {} if _name_in(text) else {"name": f"{pipeline}-{place}"}
        if before and not is_parallel:
            changes["after"] = [before]
        before = _name_in(text) or f"{pipeline}-{place}"
        found.append((text, changes))
    return found


def _name_in(text: str) -> str:
    found = re.search(r"^name[ \t]*:[ \t]*['\"]?([^'\"#\n]+)", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _absolute(path: str, base: Path) -> Path:
    return (base / Path(path).expanduser()).resolve()
