"""What stands in a digest, in its order: sections with rows, each with a bar where a figure compares."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from muster.lib.quantities import about_duration, about_number
from muster.monitor.digest_facts import MOST, Facts, Ranked, facts_of
from muster.monitor.reason_text import reason_text
from muster.monitor.stories import Availability, DigestStory, Figures
from muster.monitor.words import Words

Say = Callable[[Ranked], str]


@dataclass(frozen=True, slots=True)
class Row:
    """`part` is the length of the bar, from 0 to 1."""

    name: str
    text: str
    part: float | None = None
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    rows: Sequence[Row] = ()
    notes: Sequence[str] = ()
    heading: str = "h3"


def sections(story: DigestStory, words: Words) -> Iterator[Section]:
    rows = [_availability(one, words) for one in story.availability]
    yield Section(words.say("digest.availability"), rows, heading="h2")
    for figures in story.figures:
        yield from _of_installation(figures, words)


def _availability(one: Availability, words: Words) -> Row:
    percent = one.percent
    if percent is None:
        return Row(one.receiver, words.say("digest.availability.none"))
    text = words.say(
        "digest.availability.item",
        percent=_percent(percent),
        checks=one.checks,
        outages=one.outages,
        down=about_duration(one.down_s),
    )
    now = f" ({words.say('digest.down.now')})" if one.is_down else ""
    return Row(one.receiver, text + now, percent / 100, one.is_down)


def _of_installation(figures: Figures, words: Words) -> Iterator[Section]:
    title = words.say("digest.of", receivers=", ".join(figures.receivers))
    if figures.problem is not None:
        yield Section(title, (), [words.say("digest.problem", reason=reason_text(figures.problem, words))], "h2")
        return
    facts = facts_of(figures)
    yield Section(title, _totals(facts, words), [words.say("digest.only.own")] if facts.only_own else [], "h2")
    yield _causes(facts, words)
    yield _ranked("digest.users" if facts.has_gpus else "digest.users.cpu", facts.users, words, _hours)
    yield _ranked("digest.slow", facts.slow, words, lambda one: words.say("digest.slow.item", ratio=f"{one.value:.2f}"))
    yield _ranked("digest.sick", facts.sick, words, lambda one: words.say("digest.sick.item", **one.numbers))
    idle = [Row(text, "") for text in facts.idle_now[:MOST]]
    yield Section(words.say("digest.idle.now"), idle, [] if idle else [words.say("digest.none")])


def _totals(facts: Facts, words: Words) -> list[Row]:
    waits = "-"
    if facts.median_wait_s is not None and facts.p95_wait_s is not None:
        median, high = about_duration(facts.median_wait_s), about_duration(facts.p95_wait_s)
        waits = words.say("digest.queueing.text", median=median, high=high)
    if facts.waiting is not None:
        waits += f"; {words.say('digest.waiting', count=facts.waiting)}"
    return [
        Row(words.say("digest.jobs"), str(facts.jobs)),
        Row(words.say("digest.gpu.hours"), about_number(facts.gpu_hours)),
        Row(words.say("digest.idle"), about_number(facts.idle_gpu_hours)),
        Row(words.say("digest.cpu.hours"), about_number(facts.cpu_hours)),
        Row(words.say("digest.queueing"), waits),
    ]


def _causes(facts: Facts, words: Words) -> Section:
    most = max(facts.failures.values(), default=0)
    rows = [
        Row(_cause(kind, words), str(count), count / most, True) for kind, count in facts.failures.items() if count > 0
    ]
    return Section(words.say("digest.failures"), rows, [] if rows else [words.say("digest.none")])


def _cause(kind: str, words: Words) -> str:
    try:
        return words.say(f"cause.{kind}")
    except KeyError:
        return kind  # a server of another version


def _ranked(key: str, found: Sequence[Ranked], words: Words, text: Say) -> Section:
    most = max((one.value for one in found), default=1.0)
    rows = [Row(one.name, text(one), one.value / most) for one in found]
    return Section(words.say(key), rows, [] if rows else [words.say("digest.none")])


def _hours(one: Ranked) -> str:
    return f"{about_number(one.value)} h"


def _percent(value: float) -> str:
    """Never rounded up to a week without failures."""
    return "100 %" if value == 100 else f"{min(value, 99.99):.2f} %"
