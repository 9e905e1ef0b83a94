"""What the states of Slurm's nodes mean: whether jobs can start there."""

import re
from dataclasses import dataclass

_UP = frozenset(("IDLE", "ALLOCATED", "MIXED", "COMPLETING", "PLANNED", "ALLOC", "MIX", "COMP", "PLND"))
_ASLEEP = frozenset(("POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP", "POWERED_UP", "CLOUD"))
"""Slurm switches them on when it needs them."""
_MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "%": "POWERING_DOWN",
    "!": "POWER_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_LONG = {
    "ALLOC": "ALLOCATED",
    "MIX": "MIXED",
    "COMP": "COMPLETING",
    "DRNG": "DRAINING",
    "UNK": "UNKNOWN",
    "MAINT": "MAINTENANCE",
    "PLND": "PLANNED",
    "RESV": "RESERVED",
    "POW_DN": "POWERING_DOWN",
    "POW_UP": "POWERING_UP",
    "FAILG": "FAILING",
    "FUTR": "FUTURE",
    "INVAL": "INVALID",
    "NO_RESPOND": "NOT_RESPONDING",
    "REBOOT": "REBOOT_ISSUED",
}
_SENTENCES = (
    # The first that applies is said.
    (frozenset(("DOWN",)), "It is down"),
    (frozenset(("NOT_RESPONDING",)), "It does not answer Slurm"),
    (frozenset(("DRAIN", "DRAINED", "DRAINING")), "It is drained and starts no jobs"),
    (frozenset(("FAIL", "FAILING", "ERROR")), "It is expected to fail soon"),
    (frozenset(("INVALID", "INVALID_REG")), "It has less than Slurm's settings say"),
    (frozenset(("MAINTENANCE",)), "It is reserved for maintenance"),
    (frozenset(("REBOOT_ISSUED", "REBOOT_REQUESTED", "REBOOT^")), "It is about to restart"),
    (frozenset(("FUTURE", "UNKNOWN", "PERFCTRS", "BLOCKED")), "Slurm does not know its state yet"),
)

_REMARKS = (
    (frozenset(("RESERVED",)), "It is reserved, and starts only jobs of its reservation"),
    (frozenset(("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN")), "It is switched off until a job needs it"),
)


@dataclass(frozen=True, slots=True)
class NodeCondition:
    words: tuple[str, ...]
    """Slurm's own words, in full and without its marks."""
    is_usable: bool
    """Whether jobs may start there, now or when others have ended."""
    problem: str = ""
    """Why not."""
    remark: str = ""
    """What is special about it although jobs may start there."""


def node_condition(words: tuple[str, ...]) -> NodeCondition:
    plain = tuple(dict.fromkeys(word for raw in words for word in _plain(raw)))
    for stated, sentence in _SENTENCES:
        if stated & set(plain):
            return NodeCondition(plain, False, sentence)
    if not any(word in _UP or word in _ASLEEP or word == "RESERVED" for word in plain):
        return NodeCondition(plain, False, "Slurm does not know its state yet")
    remark = next((sentence for stated, sentence in _REMARKS if stated & set(plain)), "")
    return NodeCondition(plain, True, remark=remark)


def split_state(text: str) -> tuple[str, ...]:
    """`IDLE+DRAIN` of scontrol, or a word of sinfo."""
    return tuple(word for word in text.strip().split("+") if word)


def _plain(word: str) -> list[str]:
    """`DOWN*` is down and does not respond."""
    found = re.fullmatch(r"([A-Za-z_]+)([*~#%!$@^-]*)", word.strip())
    if found is None:
        return [word.strip().upper()]
    name = found[1].upper()
    return [_LONG.get(name, name), *(_MARKS[mark] for mark in found[2])]
