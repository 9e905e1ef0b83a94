"""What a preempted job is told."""

from muster.domain.reasons import Reason


def gives_way(name: str, *, is_reclaimed: bool) -> Reason:
    if is_reclaimed:
        return Reason(
            "reclaimed",
            f"gave back to {name} what its virtual cluster had borrowed",
            "it goes on by itself when there is room",
            {"for": name},
        )
    return Reason("preempted", f"made way for {name}", "it goes on by itself when there is room", {"for": name})


def resized(before: int, after: int) -> Reason:
    return Reason(
        "resize",
        f"restarts with {after} tasks instead of {before}",
        "it starts again at once",
        {"before": before, "after": after},
    )
