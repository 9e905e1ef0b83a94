"""Leader election by a Lease: of several replicas only the holder acts.

A holder that cannot renew its lease in time ends, before another can take it over. Clocks are not compared: a replica
measures with its own for how long it has not seen the lease change.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from muster.domain.errors import MusterError
from muster.kubernetes.connection import Connection
from muster.kubernetes.errors import Exists, Missing, Outdated
from muster.kubernetes.resources import LEASES
from muster.kubernetes.times import precise_timestamp
from muster.lib.clock import Clock

LEASE = "b2a304f2.paddlepaddle.org"
"""The name of paddle-operator's lease, so that the two never act at the same time."""
_LEASE_S, _RENEW_DEADLINE_S, _RETRY_S = 15, 10.0, 2.0
_log = structlog.get_logger("operator.leader")


class LeaseLost(MusterError):
    """Another replica may act from now on."""


@dataclass(frozen=True, slots=True)
class _Seen:
    holder: str
    renewed: str
    at: float


class Leadership:
    def __init__(self, connection: Connection, namespace: str, identity: str, clock: Clock) -> None:
        self._connection, self._namespace, self._identity, self._clock = connection, namespace, identity, clock
        self._seen: _Seen | None = None
        self._lease: dict[str, Any] = {}
        self.is_held = False

    async def acquire(self) -> None:
        """Wait until this replica holds the lease."""
        while not self.is_held:
            try:
                self.is_held = await self._try()
            except MusterError as error:
                _log.warning("lease not read", error=str(error))
            if not self.is_held:
                await asyncio.sleep(_RETRY_S)
        _log.info("leading", identity=self._identity)

    async def keep(self) -> None:
        """Renew the lease for ever. Raises LeaseLost as soon as it cannot be relied upon."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(_RETRY_S)
            try:
                async with asyncio.timeout(max(0.1, renewed + _RENEW_DEADLINE_S - time.monotonic())):
                    if not await self._try():
                        raise LeaseLost(f"the lease {LEASE} belongs to another replica")
                renewed = time.monotonic()
            except (MusterError, TimeoutError) as error:
                if isinstance(error, LeaseLost) or time.monotonic() >= renewed + _RENEW_DEADLINE_S:
                    self.is_held = False
                    raise LeaseLost(f"the lease {LEASE} was not renewed in time: {error}") from error

    async def release(self) -> None:
        """Let the next replica act at once."""
        if not self.is_held:
            return
        self.is_held = False
        try:
            await self._write({**self._lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1})
        except (MusterError, KeyError) as error:
            _log.warning("lease not released", error=str(error))

    async def _try(self) -> bool:
        try:
            self._lease = await self._connection.get(LEASES, LEASE, self._namespace)
        except Missing:
            return await self._create()
        spec = self._lease.get("spec") or {}
        if not self._may_take(spec):
            return False
        now, changes = precise_timestamp(self._clock()), spec.get("leaseTransitions") or 0
        is_new = spec.get("holderIdentity") != self._identity
        try:
            await self._write(
                {
                    "holderIdentity": self._identity,
                    "leaseDurationSeconds": _LEASE_S,
                    "acquireTime": now if is_new else spec.get("acquireTime"),
                    "renewTime": now,
                    "leaseTransitions": changes + (1 if is_new else 0),
                }
            )
        except Outdated:
            return False
        return True

    def _may_take(self, spec: Mapping[str, Any]) -> bool:
        holder, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
        if holder in ("", self._identity):
            return True
        now = time.monotonic()
        if self._seen is None or (self._seen.holder, self._seen.renewed) != (holder, renewed):
            self._seen = _Seen(holder, renewed, now)
        return now >= self._seen.at + float(spec.get("leaseDurationSeconds") or _LEASE_S)

    async def _create(self) -> bool:
        now = precise_timestamp(self._clock())
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": _LEASE_S,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        body = {"metadata": {"name": LEASE, "namespace": self._namespace}, "spec": spec}
        try:
            self._lease = await self._connection.create(LEASES, body, self._namespace)
        except Exists:
            return False
        return True

    async def _write(self, spec: Mapping[str, Any]) -> None:
        self._lease = await self._connection.replace(LEASES, LEASE, {**self._lease, "spec": spec}, self._namespace)
