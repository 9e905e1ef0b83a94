"""A task of a batch system as its login node sees it: its folder in the spool, and what its marks say."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from muster.agent.batch.entry import without_entry
from muster.agent.batch.spool import BEGIN, END, LOG, Gang
from muster.agent.tasks.masking import Masks
from muster.agent.tasks.table import readable_log_bytes
from muster.agent.tasks.task_secrets import masks_of


class BatchTask:
    is_remote = True

    def __init__(self, uid: str, gang: Gang) -> None:
        self.masks: Optional[Masks] = masks_of(gang.task_folder(uid))
        self.uid = uid
        self.gang = gang
        self.folder = gang.task_folder(uid)
        os.makedirs(self.folder, 0o700, exist_ok=True)
        path = os.path.join(self.folder, LOG)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))

    @property
    def over(self) -> bool:
        return self.gang.mark(self.uid, END) is not None

    def log_bytes(self) -> int:
        """The size of the log as far as it can be read."""
        return readable_log_bytes(self.folder, None if self.over else self.masks)

    def status(self) -> Dict[str, Any]:
        begin, end = self.gang.mark(self.uid, BEGIN), self.gang.mark(self.uid, END)
        ordered = self.uid in self.gang.orders()
        return {
            "task": self.uid,
            "key": self.gang.key,
            "job": self.gang.job(),
            "begin": without_entry(begin),
            "end": end,
            "ordered": ordered,
            "log_bytes": self.log_bytes(),
            "phase": "ended" if end is not None else "running",
        }
