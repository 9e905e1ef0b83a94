"""The spool folder: what a login node and the allocations of its gangs know of each other, as files.

Each gang has a folder with what was asked for, and each of its tasks one inside it with its log and its marks. A mark
is written whole or not at all. `news` has a copy of each new mark, so that whoever follows many gangs looks at one
folder.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional

from muster.agent.batch.given_secrets import has_secrets
from muster.agent.system.disk import read_json, write_json
from muster.agent.system.removal import remove_tree

BEGIN = "begin"
END = "end"
LOG = "log"
USAGE = "usage"
WORK = "work"
SEALED = "sealed"
"""The name of the fact that a gang without a shared folder proves that it knows its token, and never says it."""
_ORDER = "stop.json"
_FACTS = "gang.json"
_JOB = "job.json"
_BEGUN = "begun.json"
_CLAIM = ".claim"


class Gang:
    """The folder of one gang. The login node makes it; the allocation adds to it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.key = os.path.basename(folder)
        self.is_gone = False
        """Whether the allocation was told that nobody waits for its gang any more."""

    @property
    def claim(self) -> str:
        return self.folder + _CLAIM

    @property
    def output(self) -> str:
        """What the batch script itself prints: why a gang could not begin."""
        return os.path.join(self.folder, "script.out")

    def look(self, tasks: Iterable[str] = ()) -> None:
        """See what other machines have written since, in the gang's own folder and in those of these tasks. A client of
        NFS that once found a file missing may say so for a minute, unless the folder of the file is opened anew."""
        for folder in (self.folder, os.path.join(self.folder, "tasks"), *map(self.task_folder, tasks)):
            try:
                os.listdir(folder)
            except OSError:
                continue  # there is nothing in it yet, or nothing any more

    def facts(self) -> Optional[Dict[str, Any]]:
        return read_json(os.path.join(self.folder, _FACTS))

    def write_facts(self, facts: Mapping[str, Any]) -> None:
        os.makedirs(os.path.join(self.folder, "tasks"), 0o700, exist_ok=True)
        write_json(os.path.join(self.folder, _FACTS), facts)

    def job(self) -> Optional[str]:
        """The number of the job in the batch system, once it is known. If there should be two, it is the one that runs
        the gang."""
        found = self.begun() or read_json(os.path.join(self.folder, _JOB))
        return str(found["job"]) if found is not None and found.get("job") else None

    def write_job(self, job: str) -> None:
        write_json(os.path.join(self.folder, _JOB), {"job": job})

    def begun(self) -> Optional[Dict[str, Any]]:
        return read_json(os.path.join(self.folder, _BEGUN))

    def begin(self, job: str, restarts: int) -> bool:
        """Whether this job may run the gang. Only the first start of the first job may."""
        partial = os.path.join(self.folder, "{}.{}".format(_BEGUN, job))
        write_json(partial, {"job": job, "restarts": restarts})
        try:
            os.link(partial, os.path.join(self.folder, _BEGUN))
        except FileExistsError:
            return False
        finally:
            os.unlink(partial)
        return True

    def orders(self) -> Dict[str, float]:
        """The tasks that are to be stopped, with their grace periods."""
        found = read_json(os.path.join(self.folder, _ORDER)) or {}
        return {str(task): float(grace_s) for task, grace_s in found.items()}

    def add_orders(self, orders: Mapping[str, float]) -> None:
        """A second order may only shorten the grace period of the first."""
        known = self.orders()
        for task, grace_s in orders.items():
            known[task] = min(grace_s, known.get(task, grace_s))
        write_json(os.path.join(self.folder, _ORDER), known)

    def task_folder(self, task: str) -> str:
        return os.path.join(self.folder, "tasks", task)

    def mark(self, task: str, name: str) -> Optional[Dict[str, Any]]:
        return read_json(os.path.join(self.task_folder(task), name))

    def forget(self, task: str) -> None:
        remove_tree(self.task_folder(task))
        facts = self.facts()
        if facts is None:
            return
        left = [one for one in facts["tasks"] if one != task]
        if left:
            self.write_facts({**facts, "tasks": left})
            return
        job = self.job()
        if job is not None:
            write_json(self.claim, {"job": job, "token": facts.get("token"), SEALED: facts.get(SEALED)})
        remove_tree(self.folder)

    def was_submitted_as(self) -> Optional[str]:
        """The job of a gang whose tasks have all been forgotten: it must not be submitted again."""
        return str(self.left().get("job") or "") or None

    def left(self) -> Dict[str, Any]:
        """What is left of a gang whose tasks have all been forgotten: its job, and its token."""
        return read_json(self.claim) or {}

    def remove(self) -> None:
        remove_tree(self.folder)
        try:
            os.unlink(self.claim)
        except FileNotFoundError:
            pass


class Spool:
    def __init__(self, root: str) -> None:
        self.root = root
        self.gangs_folder = os.path.join(root, "gangs")
        self.news_folder = os.path.join(root, "news")

    def make(self) -> None:
        for folder in (self.gangs_folder, self.news_folder):
            os.makedirs(folder, 0o700, exist_ok=True)

    def gang(self, key: str) -> Gang:
        return Gang(os.path.join(self.gangs_folder, key))

    def gang_of(self, task: str) -> Gang:
        return self.gang(task.rsplit(".", 2)[0])

    def gangs(self) -> List[Gang]:
        try:
            names = sorted(os.listdir(self.gangs_folder))
        except OSError:
            return []
        return [self.gang(name) for name in names if not name.endswith((_CLAIM, ".partial"))]

    def left(self) -> Dict[str, Dict[str, Any]]:
        """What is left of the gangs whose tasks have all been forgotten, by their keys."""
        try:
            names = os.listdir(self.gangs_folder)
        except OSError:
            return {}
        gangs = [self.gang(name[: -len(_CLAIM)]) for name in names if name.endswith(_CLAIM)]
        return {gang.key: gang.left() for gang in gangs if gang.facts() is None}

    def write_mark(self, gang: Gang, task: str, name: str, mark: Mapping[str, Any]) -> None:
        """The secrets of a task are gone before its end is known."""
        if name == END and has_secrets(gang.task_folder(task)):
            load_clearing()(gang.task_folder(task))
        write_json(os.path.join(gang.task_folder(task), name), mark)
        write_json(os.path.join(self.news_folder, "{}.{}".format(task, name)), {})

    def write_usage(self, gang: Gang, task: str, sample: Mapping[str, Any]) -> None:
        """What the task uses now. It is no news: who wants to know it looks."""
        write_json(os.path.join(gang.task_folder(task), USAGE), sample)

    def take_news(self) -> List[str]:
        """The tasks with new marks, each once."""
        try:
            names = [name for name in os.listdir(self.news_folder) if not name.endswith(".partial")]
        except OSError:
            return []
        for name in names:
            try:
                os.unlink(os.path.join(self.news_folder, name))
            except FileNotFoundError:
                pass
        return sorted({name.rsplit(".", 1)[0] for name in names})


def load_clearing() -> Callable[[str], None]:
    """What removes the secrets of a task. Loading it takes longer than all that a task without secrets needs, so a
    process that will need it loads it once its tasks have started: at their end, the agent's archive may be gone."""
    from muster.agent.batch.gang_secrets import clear

    return clear
