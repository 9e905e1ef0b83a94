"""Makes the settings of a server and a cluster file of `conf.json` and the list of nodes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.master_slaver.folder import CONF, MasterFolder
from muster.client.master_slaver.notes import Note

_CONDA = "envs/miniconda3"
_NODE_KEYS = {"ip": "host", "user_name": "user", "gpu_count": "gpus", "gpu_info": "gpuModels"}
_WITHOUT_EFFECT = {
    "train_log_path": "Muster keeps the logs of its tasks itself; the old ones stay where they are",
    "socket_info": "Muster has no such sockets: `muster` and the web page use its own port",
}
_WEB_WITHOUT_EFFECT = {
    "allow_register": "users are added with `muster users add`, or come from an identity provider",
    "terminal_enabled": "`muster shell JOB` opens a shell in a running task",
    "max_upload_mb": "the setting maxPackageBytes limits code, and the disk limits `muster fs put`",
    "shell_initial_wait": "`muster shell` does not wait",
}


@dataclass(frozen=True, slots=True)
class Site:
    settings: Mapping[str, Any]
    cluster: Mapping[str, Any]
    notes: tuple[Note, ...]


def site_of(folder: MasterFolder, cluster: str) -> Site:
    """Raises MusterError without an absolute `root`, below which all paths of the old system are."""
    if not PurePosixPath(folder.root).is_absolute() or ".." in PurePosixPath(folder.root).parts:
        raise MusterError(
            f"`root` in {folder.path / CONF} is not an absolute path",
            code=BAD_INPUT,
            hint="it is the folder in which the nodes have envs and data",
        )
    notes: list[Note] = []
    settings = dict(_settings(folder.conf, notes))
    return Site(settings, _cluster(folder, cluster, notes), tuple(notes))


def _settings(conf: Mapping[str, Any], notes: list[Note]) -> Iterator[tuple[str, Any]]:
    log = conf.get("server_log_path")
    if isinstance(log, str) and PurePosixPath(log).is_absolute():
        yield "logFile", log
    elif log is not None:
        notes.append(Note(f"{CONF}: server_log_path", "is not an absolute path, and has no effect"))
    web = conf.get("web_info")
    for key, value in web.items() if isinstance(web, dict) else ():
        if key in ("host", "port"):
            yield key, value
        elif key != "enabled" or value is False:
            why = _WEB_WITHOUT_EFFECT.get(key, "Muster knows no such setting")
            why = "the web page cannot be switched off" if key == "enabled" else why
            notes.append(Note(f"{CONF}: web_info.{key}", f"has no effect: {why}"))
    known = {"visible_folders", "root", "psw_file", "slaver_file", "server_log_path", "web_info"}
    for key in conf:
        if key not in known:
            why = _WITHOUT_EFFECT.get(key, "Muster knows no such setting")
            notes.append(Note(f"{CONF}: {key}", f"has no effect: {why}"))


def _cluster(folder: MasterFolder, name: str, notes: list[Note]) -> dict[str, Any]:
    visible = folder.conf.get("visible_folders")
    names = [str(one).strip("/") for one in visible] if isinstance(visible, list) else ["data", "envs"]
    notes.append(
        Note(
            f"{CONF}: psw_file",
            "the server reads the password from there, if nobody else may: chmod 600; keys are safer than passwords",
        )
    )
    notes.append(
        Note("nodes", "the key that a node shows first is trusted from then on, as nothing is known of their keys")
    )
    return {
        "name": name,
        "backend": "ssh",
        "defaults": {"passwordFile": str(folder.password_file), "hostKeys": "first-use"},
        "folders": {one.replace("/", "-"): {"path": f"{folder.root.rstrip('/')}/{one}"} for one in names if one},
        "conda": f"{folder.root.rstrip('/')}/{_CONDA}",
        "nodes": [_node(record, notes) for record in folder.nodes],
    }


def _node(record: Mapping[str, Any], notes: list[Note]) -> dict[str, Any]:
    node = {"name": record["name"]}
    for key, value in record.items():
        if key in _NODE_KEYS:
            node[_NODE_KEYS[key]] = value
        elif key != "name":
            notes.append(Note(f"node {record['name']}: {key}", "has no effect: Muster knows no such key of a node"))
    return node
