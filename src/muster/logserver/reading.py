"""Runs queries on threads, each with a reader of its own, so that neither the taking of records nor the event loop
waits."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from muster.logserver.history import History
from muster.logserver.index import IndexBroken
from muster.logserver.line_files import LineFiles

T = TypeVar("T")
_THREADS = 2


class Unreadable(Exception):
    """The index cannot be read now."""


class Reader:
    def __init__(self, index: Path, files: LineFiles) -> None:
        self._index = index
        self._files = files
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="logserver-reader")

    async def read(self, query: Callable[[History], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, query)

    def close(self) -> None:
        self._threads.shutdown()

    def _run(self, query: Callable[[History], T]) -> T:
        try:
            history: History | None = getattr(self._own, "history", None)
            if history is None:
                history = self._own.history = History(self._index, self._files)
            return query(history)
        except (sqlite3.Error, IndexBroken) as error:
            raise Unreadable(f"the index cannot be read: {error}") from error
