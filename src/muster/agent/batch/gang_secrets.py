"""The secrets of tasks in the spool: the login node puts them into their folders before the job is submitted, and
whoever writes down the end of a task removes them. No batch script contains them.

Only the accounts of the login node's agent and of the tasks can read them. Without a shared folder, the login node
keeps them until the task asks for them over the sealed connection of its gang, and puts them into a folder of its own.
"""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, Mapping, NamedTuple, Optional

from muster.agent.batch.given_secrets import GIVEN, VARIABLES
from muster.agent.requests import bad_request
from muster.agent.system.disk import read_json, write_json
from muster.agent.system.removal import remove_tree
from muster.agent.tasks import task_folder, task_secrets
from muster.agent.tasks.launch_request import SecretsOrder, secrets_order
from muster.agent.tasks.log_limits import dropped_of
from muster.agent.tasks.masking import Masks


class BatchSecrets(NamedTuple):
    order: SecretsOrder
    variables: Dict[str, str]
    paths: Dict[str, str]
    """Variables with paths in the folder of the secrets."""
    told: Mapping[str, Any]
    """All of it, as it was told."""


def batch_secrets(value: Any) -> Dict[str, BatchSecrets]:
    """Reads the secrets of each task from a request. Problems never quote a value."""
    if not isinstance(value or {}, dict):
        raise bad_request("secrets must be null or an object by task")
    return {task: _of_task(one) for task, one in (value or {}).items()}


def _of_task(value: Any) -> BatchSecrets:
    order = secrets_order(value)
    if order is None or not all(_are_texts(value.get(name)) for name in ("variables", "paths")):
        raise bad_request("the secrets of a task must be an object with files, masked, variables and paths")
    return BatchSecrets(order, value["variables"], value["paths"], value)


def _are_texts(variables: Any) -> bool:
    return isinstance(variables, dict) and all(isinstance(one, str) for pair in variables.items() for one in pair)


def place(folder: str, secrets: BatchSecrets) -> None:
    """Write the secrets of a task into its folder. What an earlier try left is replaced."""
    os.makedirs(folder, 0o700, exist_ok=True)
    task_secrets.place(folder, secrets.order)
    own = os.path.join(folder, task_folder.SECRETS)
    paths = {name: os.path.join(own, path) if path else own for name, path in secrets.paths.items()}
    write_json(os.path.join(folder, VARIABLES), {**secrets.variables, **paths})


def keep(folder: str, secrets: BatchSecrets) -> None:
    """Keep the secrets of a task that will ask for them, and what is to be masked in the log that it sends."""
    os.makedirs(folder, 0o700, exist_ok=True)
    task_secrets.place(folder, SecretsOrder({}, secrets.order.masked))
    write_json(os.path.join(folder, GIVEN), secrets.told)


def kept(folder: str) -> Optional[Dict[str, Any]]:
    return read_json(os.path.join(folder, GIVEN))


def clear(folder: str) -> None:
    """The task is over: mask its log, and remove its secrets."""
    masks = task_secrets.masks_of(folder)
    if masks is None:
        return
    for name in (task_folder.SECRETS, task_folder.SSH, VARIABLES, GIVEN):
        remove_tree(os.path.join(folder, name))
    _mask(os.path.join(folder, task_folder.LOG), folder, masks)
    _remove(os.path.join(folder, task_folder.MASKED))


def _mask(path: str, folder: str, masks: Masks) -> None:
    """Other machines may read the log meanwhile, so a copy is masked, and takes its place. A log with holes would fill
    the disk as a copy, and is masked where it lies."""
    try:
        log = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return  # there is none, or the command has put something else there, which nobody reads
    try:
        dropped = dropped_of(folder, log)
        if dropped is not None:
            task_secrets.mask_log(log, masks, dropped)
            return
        copy = path + ".partial"
        _remove(copy)
        with os.fdopen(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "r+b") as target:
            with os.fdopen(os.dup(log), "rb") as source:
                shutil.copyfileobj(source, target)
            target.flush()
            task_secrets.mask_log(target.fileno(), masks, None)
        os.rename(copy, path)
    finally:
        os.close(log)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
