"""Why a check failed, in the words of one language."""

from muster.monitor.outcomes import Reason
from muster.monitor.words import Words


def reason_text(reason: Reason, words: Words) -> str:
    """One sentence without its full stop."""
    return words.say(f"reason.{reason.code}", step=words.say(f"step.{reason.step}"), **reason.details)
