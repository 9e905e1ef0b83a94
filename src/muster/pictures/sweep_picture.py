"""Draws a sweep: the best value so far over time, the value of each member, the value over each param, and all of them
as parallel coordinates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from muster.pictures.parallel import parallel_parts
from muster.pictures.scales import Scale, Value, scale_of
from muster.pictures.svg import COLOURS, Box, page, safe, shortened, value_range
from muster.pictures.ticks import durations_up_to, ticks_between

WIDTH = 960
_TOP, _PANEL, _GAP = 80, 190, 80
_COLUMNS = (Box(80, 0, 460, _PANEL), Box(560, 0, 940, _PANEL))
_PARALLEL = 300
_MOST_PARAMS = 8
_POINT, _BEST = COLOURS[0], COLOURS[1]


@dataclass(frozen=True, slots=True)
class Member:
    number: int
    params: Mapping[str, Value]
    value: float | None
    after_s: float | None
    """When it ended, since the sweep began; None if it has not."""


@dataclass(frozen=True, slots=True)
class SweepPicture:
    name: str
    metric: str
    is_max: bool
    params: Sequence[str]
    members: Sequence[Member]

    @property
    def height(self) -> int:
        rows = 1 + (len(self.params[:_MOST_PARAMS]) + 1) // 2
        return _TOP + rows * (_PANEL + _GAP) + _PARALLEL + _GAP

    def drawn(self) -> str:
        return page(f"{self.name}: {self.metric}", WIDTH, self.height, self._parts())

    def _parts(self) -> Iterator[str]:
        found = [one for one in self.members if one.value is not None]
        values = [float(one.value or 0.0) for one in found]
        pick = max if self.is_max else min
        best = values.index(pick(values)) if values else -1
        places = scale_of("member", [one.number for one in found])
        yield from _panel(_box(0), "best so far, over time")
        yield from _best_so_far(_box(0), found, self.is_max)
        yield from _panel(_box(1), "value of each member")
        yield from _scatter(_box(1), places, values, best)
        for place, name in enumerate(self.params[:_MOST_PARAMS], 2):
            scale = scale_of(name, [one.params.get(name) for one in found])
            yield from _panel(_box(place), f"over {name}{' (log)' if scale.is_log else ''}")
            yield from _scatter(_box(place), scale, values, best)
        top = self.height - _PARALLEL - 30
        scales = [scale_of(name, [one.params.get(name) for one in found]) for name in self.params]
        yield from parallel_parts(Box(80, top, 900, self.height - 40), [*scales, scale_of(self.metric, values)])


def _box(place: int) -> Box:
    row, column = divmod(place, 2)
    box, down = _COLUMNS[column], _TOP + row * (_PANEL + _GAP)
    return box._replace(top=box.top + down, bottom=box.bottom + down)


def _panel(box: Box, title: str) -> Iterator[str]:
    yield f'<text x="{box.left}" y="{box.top - 12}">{safe(title)}</text>'
    yield f'<line class="axis" x1="{box.left}" y1="{box.top}" x2="{box.left}" y2="{box.bottom}"/>'
    yield f'<line class="axis" x1="{box.left}" y1="{box.bottom}" x2="{box.right}" y2="{box.bottom}"/>'


def _scatter(box: Box, scale: Scale, values: Sequence[float], best: int) -> Iterator[str]:
    low, high = value_range(values)
    yield from _value_labels(box, low, high)
    apart = -(-len(scale.ticks) // 6)
    for at, label in scale.ticks[::apart]:
        yield _below(box, at, label)
    for place, (part, value) in enumerate(zip(scale.places, values, strict=True)):
        if part is not None and place != best:
            yield _dot(box.x(part), box.y((value - low) / (high - low)), _POINT, 3)
    if best >= 0 and (part := scale.places[best]) is not None:
        yield _dot(box.x(part), box.y((values[best] - low) / (high - low)), _BEST, 5)


def _best_so_far(box: Box, members: Sequence[Member], is_max: bool) -> Iterator[str]:
    """Members that have not ended are not in it: when they reached their best value is not known."""
    ended: list[tuple[float, float]] = sorted(
        (one.after_s, one.value) for one in members if one.after_s is not None and one.value is not None
    )
    if not ended:
        yield f'<text x="{box.left + 12}" y="{box.top + 20}">no member with a value has ended</text>'
        return
    low, high = value_range([value for _, value in ended])
    longest = ended[-1][0] or 1.0
    best, points = ended[0][1], list[str]()
    for after_s, value in ended:
        x = box.x(after_s / longest)
        points.append(f"{x:.1f},{box.y((best - low) / (high - low)):.1f}")
        best = max(best, value) if is_max else min(best, value)
        points.append(f"{x:.1f},{box.y((best - low) / (high - low)):.1f}")
    yield from _value_labels(box, low, high)
    for after_s, label in durations_up_to(longest):
        yield _below(box, after_s / longest, label)
    for after_s, value in ended:
        yield _dot(box.x(after_s / longest), box.y((value - low) / (high - low)), _POINT, 2)
    yield f'<polyline stroke="{_BEST}" points="{" ".join(points)}"/>'


def _value_labels(box: Box, low: float, high: float) -> Iterator[str]:
    for value, label in ticks_between(low, high):
        y = box.y((value - low) / (high - low)) + 4
        yield f'<text class="left" x="{box.left - 8}" y="{y:.1f}">{label}</text>'


def _below(box: Box, part: float, label: str) -> str:
    return f'<text class="middle" x="{box.x(part):.1f}" y="{box.bottom + 18}">{safe(shortened(label))}</text>'


def _dot(x: float, y: float, colour: str, radius: int) -> str:
    return f'<circle fill="{colour}" fill-opacity="0.75" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'
