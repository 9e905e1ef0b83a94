"""What follows from a round of checks. Pure: `now` is the clock on the wall, `elapsed_s` the time since the last round
by a clock that never jumps."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muster.monitor.outcomes import Outcome
from muster.monitor.state import MonitorState, Pending, ReceiverState
from muster.monitor.stories import Failed, FailureStory, Recovered, RecoveryStory, Story

MOST_PENDING = 500
"""Stories that wait for a way that does not work. Beyond that, the oldest are dropped."""
FLAPPING_S = 3600.0
"""A receiver that goes down within this time after it came back flaps."""
_MOST_DOUBLINGS = 5


@dataclass(frozen=True, slots=True)
class Damping:
    failures: int = 2
    successes: int = 2

    def successes_after(self, flaps: int) -> int:
        """Each outage soon after another doubles how long a receiver has to be well before people are told that it
        is: one that comes and goes all night is told a few times, not each time."""
        return int(self.successes * 2 ** min(flaps, _MOST_DOUBLINGS))


@dataclass(frozen=True, slots=True)
class Round:
    now: float
    elapsed_s: float
    addresses: Mapping[str, str]
    """The address of each receiver that is watched, by its title."""
    outcomes: Mapping[str, Outcome]
    canaries: Mapping[str, Outcome] = field(default_factory=dict)
    """What the canary jobs that have ended since the last round found."""


def concluded(
    state: MonitorState, found: Round, damping: Damping, ways: "Ways", new_id: Callable[[], str]
) -> MonitorState:
    """The state after a round, with what is to be told. A receiver that is no longer watched is forgotten."""
    failed: list[Failed] = []
    recovered: list[Recovered] = []
    receivers: dict[str, ReceiverState] = {}
    for title, url in found.addresses.items():
        before = state.receivers.get(title, ReceiverState())
        after = judged(before, found.outcomes[title], found.canaries.get(title), found, damping)
        if after.is_down and not before.is_down:
            assert after.reason is not None
            failed.append(Failed(title, url, after.reason, after.since, after.failures))
        if before.is_down and not after.is_down:
            assert before.reason is not None
            recovered.append(Recovered(title, url, before.reason, before.since, after.lasted_s))
            after = replace(after, lasted_s=0.0, since=0.0, reason=None)
        receivers[title] = after
    stories: list[Story] = []
    if failed:
        stories.append(FailureStory(new_id(), found.now, tuple(failed), len(receivers)))
    if recovered:
        still = tuple(title for title, one in receivers.items() if one.is_down)
        stories.append(RecoveryStory(new_id(), found.now, tuple(recovered), still))
    after_round = replace(state, receivers=receivers, round_at=found.now, rounds=state.rounds + 1)
    return with_stories(after_round, stories, ways)


def judged(
    before: ReceiverState, outcome: Outcome, canary: Outcome | None, found: Round, damping: Damping
) -> ReceiverState:
    """A canary counts once. One that has failed counts only if the check is well: otherwise it met what the check has
    found. While the last one has failed and the next has not ended, it is open whether the receiver is well."""
    if canary is not None and canary.reason is None:
        before = replace(before, canary_failed=False)
    elif canary is not None and outcome.reason is None:
        before, outcome = replace(before, canary_failed=True), replace(outcome, reason=canary.reason)
    if outcome.reason is None and before.canary_failed:
        return _undecided(before, found.elapsed_s)
    return observed(before, outcome, found.now, found.elapsed_s, damping)


def _undecided(before: ReceiverState, elapsed_s: float) -> ReceiverState:
    """Counts neither as a failed check nor as a good one, while the time goes on."""
    return replace(
        before,
        calm_s=_grown(before.calm_s, elapsed_s),
        lasted_s=before.lasted_s + elapsed_s,
        down_s=before.down_s + (elapsed_s if before.is_down else 0.0),
    )


def observed(before: ReceiverState, outcome: Outcome, now: float, elapsed_s: float, damping: Damping) -> ReceiverState:
    """An outage lasts from its first failed check to its first good one, also if damping tells both later."""
    reason = outcome.reason
    counted = replace(
        before,
        checks=before.checks + 1,
        failed_checks=before.failed_checks + (reason is not None),
        installation=outcome.installation or before.installation,
    )
    in_outage = before.is_down or before.failures > 0
    if reason is not None:
        begins = not in_outage
        # A good check that was not enough to recover belongs to the outage: it goes on as if it had been a bad one.
        lasted_s = 0.0 if begins else before.lasted_s + elapsed_s
        failures = before.failures + 1
        is_down = before.is_down or failures >= damping.failures
        fell = is_down and not before.is_down
        return replace(
            counted,
            flaps=_flaps(before, elapsed_s) if fell else before.flaps,
            calm_s=None if is_down else _grown(before.calm_s, elapsed_s),
            is_down=is_down,
            failures=failures,
            successes=0,
            since=now if begins else before.since,
            lasted_s=lasted_s,
            reason=reason,
            outages=before.outages + fell,
            down_s=before.down_s + (lasted_s if fell else elapsed_s if is_down else 0.0),
        )
    successes = before.successes + 1
    if not before.is_down:
        calm_s = _grown(before.calm_s, elapsed_s)
        return replace(counted, failures=0, successes=successes, since=0.0, lasted_s=0.0, reason=None, calm_s=calm_s)
    grown_s = elapsed_s if before.successes == 0 else 0.0
    is_down = successes < damping.successes_after(before.flaps)
    return replace(
        counted,
        calm_s=None if is_down else 0.0,
        is_down=is_down,
        failures=0,
        successes=successes,
        lasted_s=before.lasted_s + grown_s,
        down_s=before.down_s + grown_s,
    )


def _flaps(before: ReceiverState, elapsed_s: float) -> int:
    """Counts the outages that came soon after another one, when a receiver goes down."""
    calm_s = _grown(before.calm_s, elapsed_s)
    is_soon = calm_s is not None and calm_s <= FLAPPING_S
    return before.flaps + 1 if is_soon else 0


def _grown(calm_s: float | None, elapsed_s: float) -> float | None:
    return None if calm_s is None else calm_s + elapsed_s


@dataclass(frozen=True, slots=True)
class Ways:
    """Which ways tell which kind of story, by name."""

    about: Mapping[str, frozenset[str]]

    def of(self, story: Story) -> tuple[str, ...]:
        return tuple(name for name, kinds in self.about.items() if story.kind in kinds)


def with_stories(state: MonitorState, stories: Sequence[Story], ways: Ways) -> MonitorState:
    added = [Pending(story, names) for story in stories if (names := ways.of(story))]
    return replace(state, pending=(*state.pending, *added)[-MOST_PENDING:])


def told(state: MonitorState, story_id: str, way: str) -> MonitorState:
    """The state after one way has told a story."""
    left = []
    for pending in state.pending:
        names = tuple(name for name in pending.ways if pending.story.id != story_id or name != way)
        if names:
            left.append(replace(pending, ways=names))
    return replace(state, pending=tuple(left))
