"""Passes every stored record on to another address, one by one and in order.

Records are taken from the file, so that none is lost when the other side or this process stops for a while, and the
taking of records never waits for it. How far it came is kept in `FILE.notify`. Somebody who does not answer is asked
again ever more rarely; when more than MOST_BEHIND records wait, the oldest are left out. A record that is refused is
left out as well.
"""

import http.client
import threading
import urllib.error
import urllib.request
from pathlib import Path

import structlog
from pydantic_core import from_json, to_json

from muster.lib.backoff import exponential
from muster.lib.redirects import NoRedirects
from muster.logserver.index import Index
from muster.logserver.line_files import LineFiles

_log = structlog.get_logger("logserver.notify")
_TIMEOUT_S = 10.0
_LONGEST_PAUSE_S = 60.0
_AT_ONCE = 100
MOST_BEHIND = 100_000
_LATER = (408, 425, 429)
_Position = tuple[int, int]


class _Away(Exception):
    pass


class Notifier:
    """One thread. `wake` says that there is something new."""

    def __init__(self, url: str, index: Path, files: LineFiles, *, most_behind: int = MOST_BEHIND) -> None:
        self._url = url
        self._files = files
        self._index_path = index
        self._state = files.path.with_name(f"{files.path.name}.notify")
        self._most_behind = most_behind
        self._new = threading.Event()
        self._end = threading.Event()
        self._passed_on = 0
        self._left_out = 0
        self._problem = ""
        # The opener ignores proxies in the environment, as all parts of Muster do that talk to neighbours.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects())
        self._thread = threading.Thread(target=self._run, name="logserver-notify", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._new.set()

    def counts(self) -> dict[str, object]:
        return {"passedOn": self._passed_on, "leftOut": self._left_out, "problem": self._problem}

    def close(self) -> None:
        """A request that is under way is not waited for: it is sent again at the next start."""
        self._end.set()
        self._new.set()

    def _run(self) -> None:
        index = Index(self._index_path, read_only=True)
        position = self._load(index)
        failures = 0
        while not self._end.is_set():
            self._new.clear()
            try:
                position = self._pass_on(index, position)
                failures, self._problem = 0, ""
            except Exception as error:  # a webhook can do anything; it is tried again
                failures += 1
                if failures == 1:
                    _log.warning("records cannot be passed on", error=str(error))
                self._problem = str(error)
                self._end.wait(exponential(failures, first_s=1.0, limit_s=_LONGEST_PAUSE_S))
                position = self._load(index)
                continue
            self._new.wait()

    def _pass_on(self, index: Index, position: _Position) -> _Position:
        position = self._without_oldest(index, position)
        while places := index.after(position, _AT_ONCE):
            for place in places:
                if self._end.is_set():
                    return position
                line = self._files.line(place.file, place.offset, place.length)
                if line:
                    self._post(line)
                position = place.file, place.offset
                self._save(position)
        return position

    def _without_oldest(self, index: Index, position: _Position) -> _Position:
        behind = index.count_after(position)
        if behind <= self._most_behind:
            return position
        skipped = index.rows(
            "SELECT file, offset FROM records WHERE (file, offset) > (?, ?) ORDER BY file, offset LIMIT 1 OFFSET ?",
            (*position, behind - self._most_behind - 1),
        )
        self._left_out += behind - self._most_behind
        _log.warning("records are left out, because too many wait", count=behind - self._most_behind)
        position = int(skipped[0][0]), int(skipped[0][1])
        self._save(position)
        return position

    def _post(self, line: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "muster-logserver"}
        request = urllib.request.Request(self._url, line, headers, method="POST")  # noqa: S310 - http(s), checked
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 400 or error.code >= 500 or error.code in _LATER:
                raise _Away(f"answered {error.code}") from None
            self._left_out += 1
            _log.warning("a record is left out, because it was refused", status=error.code)
        except (OSError, http.client.HTTPException) as error:
            raise _Away(f"does not answer: {getattr(error, 'reason', None) or error}") from None
        else:
            self._passed_on += 1

    def _load(self, index: Index) -> _Position:
        """Returns where it was, or the end if it never passed anything on."""
        try:
            file, offset = from_json(self._state.read_bytes())
            return int(file), int(offset)
        except (OSError, ValueError, TypeError):
            position = index.last_place()
            self._save(position)
            return position

    def _save(self, position: _Position) -> None:
        """It is not flushed: after a crash of the machine, a few records may be passed on twice."""
        temporary = self._state.with_name(f"{self._state.name}.new")
        temporary.write_bytes(to_json(list(position)))
        temporary.replace(self._state)
