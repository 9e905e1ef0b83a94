"""Says on stderr what became of a submission."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from muster.cli.session import say

if TYPE_CHECKING:
    from muster.client.handles import JobHandle


def say_submitted(handle: "JobHandle") -> None:
    """Says the name of the new job, and which framework was found in its command."""
    say(f"submitted job {handle.name} ({handle.id})")
    if handle.view.raw.get("frameworkReason"):
        say(f"  framework: {framework_text(handle.view.raw)}")


def say_tracking_url(handle: "JobHandle") -> None:
    """An older server does not say it."""
    if url := handle.view.raw.get("trackingUrl"):
        say(f"  tracking URL: {url}")


def framework_text(job: Mapping[str, Any]) -> str | None:
    """The framework as `torch, because the command runs torchrun`, or only its name if the job says so itself."""
    reason = job.get("frameworkReason")
    return f"{job.get('framework')}, because {reason}" if reason else job.get("framework")
