"""What a preempted job is told."""

from muster.domain.reasons import Reason


def gives_way(name: str, *, is_reclaimed: bool) -> Reason:
    if is_reclaimed:
        return Reason(
            "reclaimed",
            f"was preempted: {name} reclaimed what its virtual cluster had lent",
            "it resumes by itself when there is room",
            {"for": name},
        )
    return Reason("preempted", f"was preempted by {name}", "it resumes by itself when there is room", {"for": name})


def resized(before: int, after: int) -> Reason:
    return Reason(
        "resize",
        f"restarts with {after} tasks instead of {before}",
        "it starts again at once",
        {"before": before, "after": after},
    )
