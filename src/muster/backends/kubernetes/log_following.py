"""Follows the log of one pod into its spool until all of it is there, or until no more of it will ever come.

An answer that ends, or an error, says little about the log: connections break, a kubelet that restarts does not know
its pods yet, one that is busy refuses, and the disk of this server may be full. The log is complete when an answer that
was asked for after the task's end has come to its own end, or when the pod is gone.
"""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import structlog

from muster.agent.tasks.masking import Masks
from muster.backends.kubernetes.log_spool import LogSpool
from muster.backends.kubernetes.names import GANG, gang_name
from muster.backends.kubernetes.paddle_jobs import is_of_operator, own_name
from muster.backends.kubernetes.pod_state import MAIN, task_of
from muster.backends.kubernetes.pods import secret_key
from muster.domain.errors import MusterError, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Missing, Refused
from muster.kubernetes.resources import PODS, SECRETS, key_of, labels_of
from muster.lib.backoff import exponential

_log = structlog.get_logger("backends.kubernetes.log_following")
LOOK_AGAIN_S = 1.0
"""The first pause after a failure. The longest is ten times as long."""
_SILENCE_S = 20.0
"""How long an answer may bring nothing of the log of an ended task before it is asked for again."""
_SILENT_TRIES, _REFUSED_TRIES = 30, 3
"""How often in a row the log of an ended task is asked for in vain, from a node that does not answer or from one that
refuses, such as for a container that never started."""


class LogFollower:
    def __init__(
        self, connection: Connection, pod: Mapping[str, Any], spool: LogSpool, look_again_s: float = LOOK_AGAIN_S
    ) -> None:
        self._connection, self._pod, self._spool = connection, pod, spool
        self._look_again_s = look_again_s
        self._masks: Masks | None = None
        self._limit: asyncio.Timeout | None = None
        self._tries_in_vain = 0

    async def run(self) -> None:
        failures = 0
        while True:
            is_last, size = self._spool.has_ended.is_set(), self._spool.size
            try:
                await self._read_rest()
                if is_last:
                    break
                failures = 0
            except (MusterError, OSError) as error:
                failures += 1
                if self._spool.size > size:
                    self._tries_in_vain = 0
                if await self._is_over(error, is_last=is_last):
                    break
                if failures == 1:
                    _log.info("log interrupted", task=task_of(self._pod), error=str(error))
            await self._pause(failures, is_last=is_last)
        self._spool.complete()

    def expect_end(self) -> None:
        """Do not wait long for more of the log of a task that has ended."""
        if self._limit is not None and self._spool.has_ended.is_set():
            self._limit.reschedule(asyncio.get_running_loop().time() + _SILENCE_S)

    async def _read_rest(self) -> None:
        if self._masks is None:
            self._masks = await _masks(self._connection, self._pod)
        self._spool.masks = self._masks
        namespace, name = key_of(self._pod)
        params = {"container": MAIN, "follow": "true", "timestamps": "true"}
        if self._spool.since:
            params["sinceTime"] = self._spool.since
        self._spool.begin()
        try:
            async with asyncio.timeout(None) as self._limit:
                self.expect_end()
                async with self._connection.streaming(PODS.path(namespace, name, "log"), params) as chunks:
                    async for chunk in chunks:
                        self._spool.feed(chunk)
                        self.expect_end()
        except TimeoutError:
            raise Unreachable(f"nothing of the log came for {_SILENCE_S:.0f} seconds") from None
        finally:
            self._limit = None
        self._spool.end()

    async def _is_over(self, error: MusterError | OSError, *, is_last: bool) -> bool:
        """Whether no more of the log will ever come, after this error."""
        if isinstance(error, OSError) or not (is_last or isinstance(error, Missing)):
            return False
        try:
            is_gone = await self._is_gone()
        except MusterError:
            return False  # the API server is away, which says nothing about the log
        if is_gone or not is_last:
            return is_gone
        self._tries_in_vain += 1
        is_refused = isinstance(error, Refused) and not isinstance(error, Missing)
        if self._tries_in_vain < (_REFUSED_TRIES if is_refused else _SILENT_TRIES):
            return False
        _log.warning("log given up", task=task_of(self._pod), error=str(error))
        return True

    async def _is_gone(self) -> bool:
        """Whether the pod is gone. A kubelet may say so of a pod that it does not know yet, and a secret may be
        missing: only the list of pods can be believed."""
        namespace, name = key_of(self._pod)
        found = await self._connection.list(PODS, namespace, fields=f"metadata.name={name}")
        return not any(one["metadata"].get("uid") == self._pod["metadata"].get("uid") for one in found)

    async def _pause(self, failures: int, *, is_last: bool) -> None:
        """The end of the task is no news if it came before the last reading."""
        seconds = exponential(max(1, failures), first_s=self._look_again_s, limit_s=10 * self._look_again_s)
        if is_last:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._spool.has_ended.wait()
        except TimeoutError:
            return


async def _masks(connection: Connection, pod: Mapping[str, Any]) -> Masks:
    """What must not be read in the log: the values of the secrets that the pod was given."""
    if not _has_secrets(pod):
        return Masks(())
    gang = labels_of(pod)[GANG]
    name = own_name(gang) if is_of_operator(pod) else gang_name(gang)
    secret = await connection.get(SECRETS, name, key_of(pod)[0])
    data = secret.get("data") or {}
    return Masks(b64decode(value) for key, value in data.items() if key.startswith(secret_key("")))


def _has_secrets(pod: Mapping[str, Any]) -> bool:
    spec = pod.get("spec") or {}
    names = [
        str(((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("key", ""))
        for container in spec.get("containers") or ()
        for variable in container.get("env") or ()
    ]
    names += [
        str(item.get("key", ""))
        for volume in spec.get("volumes") or ()
        for item in (volume.get("secret") or {}).get("items") or ()
    ]
    return any(name.startswith(secret_key("")) for name in names)
