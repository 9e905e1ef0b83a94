"""Reasons to wait other than a shortage of resources: a code, its numbers, a sentence, and what would change it."""

from collections.abc import Sequence

from muster.domain.reasons import Reason
from muster.scheduling.demand import ANOTHER_JOB


def backing_off(seconds: float) -> Reason:
    return Reason(
        "backing-off",
        f"waits {seconds:.0f} s more before it is tried again",
        "it starts by itself after that",
        {"seconds": round(seconds, 1)},
    )


def behind(name: str, ahead: int | None = None) -> Reason:
    place = "" if ahead is None else f", {ahead} ahead of it in the queue"
    numbers: dict[str, int | float | str] = {"behind": name} if ahead is None else {"behind": name, "ahead": ahead}
    return Reason("behind", f"waits behind {name}{place}", f"it moves up when {name} starts or leaves", numbers)


def slots_occupied(names: Sequence[str]) -> Reason:
    others = names.count(ANOTHER_JOB)
    shown = [name for name in names if name != ANOTHER_JOB]
    shown += [ANOTHER_JOB if others == 1 else f"{others} other jobs"] if others else []
    return Reason(
        "being-left",
        f"its resources are assigned; {', '.join(shown)} {'is' if len(names) == 1 else 'are'} still stopping there",
        "it starts when that is done, at the end of their grace period at the latest",
        {"leaving": len(names)},
    )


def reserved(name: str, at: float) -> Reason:
    return Reason(
        "reserved",
        f"what is free is reserved for {name}",
        "it may start before that with a time limit short enough to end by then",
        {"for": name, "at": round(at, 3)},
    )


def only_guaranteed(vc: str) -> Reason:
    return Reason(
        "share",
        f"all that {vc} is guaranteed is in use, and it does not borrow",
        "it starts when other jobs of the virtual cluster end",
        {"vc": vc},
    )


def not_preemptible(vc: str) -> Reason:
    return Reason(
        "share",
        f"all that {vc} is guaranteed is in use, and a job that refuses preemption cannot borrow",
        "it starts when other jobs of the virtual cluster end, or at once with `preemptible: true` if there is room",
        {"vc": vc},
    )
