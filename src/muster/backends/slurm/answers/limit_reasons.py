"""The limits of accounts and of a QOS that keep jobs waiting.

Slurm composes more than a hundred words from a few parts: `AssocGrpCPURunMinutesLimit`, `QOSMaxGRESPerUser`,
`MaxNodePerAccount`.
"""

import re
from dataclasses import dataclass

_WORD = re.compile(
    r"(?P<whose>QOS|Assoc)?(?P<kind>Grp|Max|Min)(?P<what>SubmitJobs?|Jobs?|WallDuration|Wall|Cpu|CPU|Memory|Mem|Node|GRES"
    r"|License|BB|Billing|Energy|Unknown)(?P<time>RunMinutes|Minutes)?(?:Per(?P<each>Job|User|Node|Account))?"
    r"(?:Limit|NotSatisfied)?"
)
_WHAT = {
    "Cpu": "CPUs",
    "CPU": "CPUs",
    "Mem": "memory",
    "Memory": "memory",
    "Node": "nodes",
    "GRES": "GPUs or other devices",
    "License": "licences",
    "BB": "burst buffer space",
    "Billing": "billing units",
    "Energy": "energy",
    "Unknown": "some resource",
    "Wall": "running time",
    "WallDuration": "time",
}
_EACH = {"Job": "job", "Node": "node", "User": "user", "Account": "account"}


@dataclass(frozen=True, slots=True)
class LimitReason:
    sentence: str
    starts_by_itself: bool


def limit_reason(code: str) -> LimitReason | None:
    """Returns None if the word is not that of a limit."""
    found = _WORD.fullmatch(code)
    if found is None:
        return None
    kind, what, time, each = (found[part] for part in ("kind", "what", "time", "each"))
    whose = "account" if found["whose"] == "Assoc" else "QOS"
    if "Job" in what:
        return LimitReason(_jobs(whose, kind, what, each), True)
    if kind == "Min":
        return LimitReason(f"It asks for less than its {whose} requires ({_WHAT[what]}).", False)
    amount = f"{_WHAT[what]} by the minute" if time else _WHAT[what]
    if kind == "Grp" and time == "Minutes":
        # Past use counts, which no end of a job gives back.
        return LimitReason(f"Its {whose} has used up its budget ({amount}).", False)
    if kind == "Grp":
        return LimitReason(f"The jobs of its {whose} use as much as they may together ({amount}).", True)
    if each in ("User", "Account"):
        return LimitReason(f"The jobs of its {_EACH[each]} use as much as its {whose} allows ({amount}).", True)
    return LimitReason(f"It asks for more than its {whose} allows per {_EACH[each or 'Job']} ({amount}).", False)


def _jobs(whose: str, kind: str, what: str, each: str | None) -> str:
    do = "run or wait" if what.startswith("Submit") else "run"
    if kind == "Grp":
        return f"As many jobs of its {whose} {do} as may do so together."
    return f"As many jobs of its {'account' if each == 'Account' else 'user'} {do} as its {whose} allows."
