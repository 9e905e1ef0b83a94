"""Blocks of ports on the nodes for jobs with `intranet: Host`. A block belongs to one job at a time."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.operator.job.environment import PORTS


@dataclass(frozen=True, slots=True)
class PortRange:
    first: int = 35000
    last: int = 65000

    def blocks(self) -> range:
        return range(self.first, self.last - PORTS + 2, PORTS)


@dataclass(frozen=True, slots=True)
class Claim:
    """The block that a job has, or says that it has: its annotation may be a copy of another job's."""

    uid: str
    created_at: float
    block: int


def block_for(uid: str, claims: Iterable[Claim], ports: PortRange) -> int | None:
    """The block of this job: the one that it claims, unless an older job has it; else the first that is free. None if
    all are taken."""
    own: Claim | None = None
    older: dict[int, Claim] = {}
    for claim in claims:
        if claim.uid == uid:
            own = claim
        elif claim.block not in older or _age(claim) < _age(older[claim.block]):
            older[claim.block] = claim
    if own is not None and own.block in ports.blocks():
        other = older.get(own.block)
        if other is None or _age(own) < _age(other):
            return own.block
    return next((block for block in ports.blocks() if block not in older), None)


def _age(claim: Claim) -> tuple[float, str]:
    return claim.created_at, claim.uid


def parse_range(text: str) -> PortRange:
    """`35000,65000`, as paddle-operator has it. Raises ValueError."""
    first, comma, last = text.partition(",")
    if not (comma and first.strip().isdigit() and last.strip().isdigit()):
        raise ValueError(f"expected two ports such as 35000,65000, not {text!r}")
    found = PortRange(int(first), int(last))
    if not (1 <= found.first <= found.last <= 65535 and found.blocks()):
        raise ValueError(f"expected at least {PORTS} ports between 1 and 65535, not {text!r}")
    return found
