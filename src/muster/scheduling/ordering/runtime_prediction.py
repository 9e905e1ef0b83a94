"""Predicts how much work a job still has, from jobs that ended before.

Service is run time times GPUs, where a job without GPUs counts as one. Similar jobs share a histogram of service in
steps of the square root of two; a narrow kind of job that has been seen seldom is blended with the wider ones. A run
time that somebody predicted is weighed by the error that such predictions had before.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log2

_STEP = 2**0.5
_STEPS = 56
EDGES: tuple[float, ...] = (0.0, *(16.0 * _STEP**power for power in range(_STEPS - 1)))
"""The bounds of the classes of run times, from 16 GPU-seconds to about 1e9."""
_MIDDLE = tuple((low + high) / 2 for low, high in zip(EDGES, (*EDGES[1:], EDGES[-1] * _STEP), strict=True))
_TRUST = 10.0
"""How many jobs of a narrow kind weigh as much as all of the wider kind."""
_UNKNOWN = 1.0
"""The weight of knowing nothing: any size is as likely as any other, on a scale of factors."""
_FEW_PREDICTED = 30
"""Until this many predicted jobs have ended, a prediction is believed, because its error is not known yet."""
_MOST_KINDS = 10_000
"""How many kinds of jobs are remembered, which takes about 20 MB."""
_RATIOS = 41
"""Histogram of log2(actual / predicted) by half steps, from -10 to 10."""


@dataclass(slots=True)
class _Kind:
    counts: list[float] = field(default_factory=lambda: [0.0] * _STEPS)
    sums: list[float] = field(default_factory=lambda: [0.0] * _STEPS)
    seen: int = 0
    mixed: tuple[list[float], list[float]] | None = None
    """Its histogram blended with those of the wider kinds, as of `mixed_seen` and `mixed_wider` jobs."""
    left: dict[int, float] = field(default_factory=dict)
    """The work left at each step of service, as far as somebody asked for it."""
    mixed_seen: int = -1
    mixed_wider: int = -1


class Predictor:
    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}
        self._ratios = [0.0] * _RATIOS
        self._predicted = 0
        self._errors: list[float] = []

    def learn(self, similarity: Sequence[str], service: float, predicted: float | None = None) -> None:
        step = step_of(service)
        if predicted is None:
            if similarity and (kind := self._kinds.get(similarity[0])) is not None and kind.seen >= 3:
                self._note_error(self._typical(kind), service)
        else:
            self._predicted += 1
            self._ratios[_ratio_step(service, predicted)] += 1.0
            self._note_error(predicted, service)
        for key in dict.fromkeys((*similarity, "")):
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = _Kind()
            kind.seen += 1
            kind.counts[step] += 1.0
            kind.sums[step] += service
        if len(self._kinds) > _MOST_KINDS:
            self._forget_the_rare()

    def _forget_the_rare(self) -> None:
        """Forget half of the kinds: those seen least, and of equals the oldest."""
        by_seen = sorted(self._kinds, key=lambda key: self._kinds[key].seen)
        for key in by_seen[: _MOST_KINDS // 2]:
            del self._kinds[key]

    @property
    def error(self) -> float | None:
        """The median of |predicted - actual| / actual over the last jobs that had a prediction."""
        recent = sorted(self._errors[-1000:])
        return recent[len(recent) // 2] if recent else None

    def work_left(self, similarity: Sequence[str], service: float, predicted: float | None = None) -> float:
        """The least expected service per job ended, over all ways of giving it a turn (Gittins' index, inverted): small
        for a job that probably ends soon. `service` is what it has had so far."""
        if predicted is not None:
            return self._left_as_predicted(similarity, service, predicted)
        return _left_of(self._mixed(similarity), step_of(service))

    def work_left_later(
        self, similarity: Sequence[str], service: float, predicted: float | None = None
    ) -> Iterator[tuple[float, float]]:
        """The amounts of service, from the next on, at which the work left may change, and the work left at each."""
        kind = self._mixed(similarity) if predicted is None else None
        for step in range(step_of(service) + 1, _STEPS):
            edge = EDGES[step]
            yield edge, self.work_left(similarity, edge, predicted) if kind is None else _left_of(kind, step)

    def expected(self, similarity: Sequence[str], predicted: float | None = None) -> float:
        """The mean service of such a job, for a scheduler that cannot interrupt it."""
        if predicted is not None and self._predicted < _FEW_PREDICTED:
            return predicted
        counts, sums = self._counts(similarity)
        if predicted is not None:
            counts, sums = self._weighed(counts, predicted)
        return sum(sums) / sum(counts)

    def run_time(self, similarity: Sequence[str], gpus: float) -> float:
        """The run time that nine in ten of such jobs do not exceed; an hour where nothing is known."""
        service = self.ninth_decile(similarity)
        return 3600.0 if service is None else service / gpus

    def ninth_decile(self, similarity: Sequence[str]) -> float | None:
        """The service that nine in ten jobs of the narrowest kind do not exceed that was seen often enough."""
        kind = next(
            (kind for key in similarity if (kind := self._kinds.get(key)) is not None and kind.seen >= 10), None
        )
        if kind is None:
            return None
        most, count = 0.9 * sum(kind.counts), 0.0
        for step, number in enumerate(kind.counts):
            count += number
            if count >= most:
                return _MIDDLE[step]
        return _MIDDLE[-1]

    def median(self, similarity: Sequence[str]) -> float | None:
        """The median service of the narrowest kind that was seen often enough."""
        for key in similarity:
            kind = self._kinds.get(key)
            if kind is not None and kind.seen >= 3:
                return self._typical(kind)
        return None

    def _typical(self, kind: _Kind) -> float:
        half, count = sum(kind.counts) / 2, 0.0
        for number, total in zip(kind.counts, kind.sums, strict=True):
            count += number
            if count >= half and number:
                return total / number
        return 0.0

    def _note_error(self, predicted: float, actual: float) -> None:
        self._errors.append(abs(predicted - actual) / max(actual, 1.0))
        if len(self._errors) > 4000:
            del self._errors[:2000]

    def _mixed(self, similarity: Sequence[str]) -> _Kind:
        """The narrowest kind that was seen, blended anew if enough was learnt since."""
        key = next((key for key in similarity if key in self._kinds), "")
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _Kind()
        wider = self._kinds[""].seen if "" in self._kinds else 0
        if kind.mixed is None or kind.seen > kind.mixed_seen * 1.1 + 1 or wider > kind.mixed_wider * 1.5 + 1:
            kind.mixed = self._counts(similarity)
            kind.left.clear()
            kind.mixed_seen, kind.mixed_wider = kind.seen, wider
        return kind

    def _counts(self, similarity: Sequence[str]) -> tuple[list[float], list[float]]:
        """The histograms of all its kinds, blended from the widest to the narrowest."""
        counts = [_UNKNOWN / _STEPS] * _STEPS
        sums = [count * middle for count, middle in zip(counts, _MIDDLE, strict=True)]
        for key in reversed(tuple(dict.fromkeys((*similarity, "")))):
            kind = self._kinds.get(key)
            if kind is None:
                continue
            total = sum(counts)
            lean = _TRUST / total if total > _TRUST else 1.0
            counts = [lean * wide + own for wide, own in zip(counts, kind.counts, strict=True)]
            sums = [lean * wide + own for wide, own in zip(sums, kind.sums, strict=True)]
        return counts, sums

    def _left_as_predicted(self, similarity: Sequence[str], service: float, predicted: float) -> float:
        if self._predicted < _FEW_PREDICTED:
            return max(predicted - service, predicted * 0.05)
        counts, sums = self._weighed(self._counts(similarity)[0], predicted)
        return _left_at(counts, sums, step_of(service))

    def _weighed(self, counts: list[float], predicted: float) -> tuple[list[float], list[float]]:
        """How likely each size is for such jobs, times how likely the prediction is for a job of that size."""
        weights = [
            count * (self._ratios[_ratio_step(middle, predicted)] + 0.02)
            for count, middle in zip(counts, _MIDDLE, strict=True)
        ]
        return weights, [weight * middle for weight, middle in zip(weights, _MIDDLE, strict=True)]


def step_of(service: float) -> int:
    return bisect_right(EDGES, service + 1e-6) - 1


def _ratio_step(actual: float, predicted: float) -> int:
    ratio = log2(max(actual, 1e-3) / max(predicted, 1e-3))
    return min(_RATIOS - 1, max(0, round(ratio * 2) + _RATIOS // 2))


def _left_of(kind: _Kind, step: int) -> float:
    left = kind.left.get(step)
    if left is None:
        assert kind.mixed is not None
        left = kind.left[step] = _left_at(*kind.mixed, step)
    return left


def _left_at(counts: Sequence[float], sums: Sequence[float], step: int) -> float:
    had = EDGES[step]
    beyond = sum(counts[step:])
    ended = work = 0.0
    best = float("inf")
    for k in range(step, _STEPS):
        if not counts[k]:
            continue
        ended += counts[k]
        beyond -= counts[k]
        work += sums[k] - had * counts[k]
        upto = EDGES[k + 1] if k + 1 < _STEPS else EDGES[k] * _STEP
        best = min(best, (work + max(0.0, beyond) * (upto - had)) / ended)
    return best
