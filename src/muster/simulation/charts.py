"""A picture of runs: queue length and utilisation over time, and the distribution of completion times, a line for each
policy. SVG, drawn by hand: no library is worth its import for three panels.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from muster.simulation.metrics import last_end_s, spans
from muster.simulation.records import Run, Sample

WIDTH, HEIGHT = 960, 920
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Colours that colour-blind people can distinguish too (Okabe and Ito)."""
_LEFT, _RIGHT = 78, 24
_PLOT = WIDTH - _LEFT - _RIGHT
_PANEL_HEIGHT = 220
_FIRST_TOP = 70
_PITCH = _PANEL_HEIGHT + 66
_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
_DECADE_NAMES = {1.0: "1 s", 10.0: "10 s", 60.0: "1 min", 600.0: "10 min", 3600.0: "1 h", 36000.0: "10 h",
                 86400.0: "1 d", 864000.0: "10 d", 8640000.0: "100 d"}  # fmt: skip
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Panel:
    """A plot's frame. `x` and `y` go from values to pixels."""

    top: float
    x_from: float
    x_to: float
    y_to: float

    def x(self, value: float) -> float:
        return _LEFT + (value - self.x_from) / ((self.x_to - self.x_from) or 1) * _PLOT

    def y(self, value: float) -> float:
        return self.top + _PANEL_HEIGHT * (1 - value / (self.y_to or 1))


def draw(runs: Sequence[Run]) -> str:
    """The SVG's text; the same for the same runs."""
    begin_s = min((done.job.submit_s for run in runs for done in run.finished), default=0.0)
    end_s = max((last_end_s(run) for run in runs), default=begin_s)
    unit_s, unit = next(((size, name) for size, name in _UNITS if end_s - begin_s >= 3 * size), _UNITS[-1])
    longest = max((sample.waiting_jobs for run in runs for sample in run.samples), default=0)
    queue = _Panel(_FIRST_TOP, 0, (end_s - begin_s) / unit_s, _ceiling(longest))
    busy = _Panel(_FIRST_TOP + _PITCH, 0, (end_s - begin_s) / unit_s, 100)
    parts = [
        *_head(runs),
        *_frame(queue, "Jobs waiting", f"{unit} since the first submission"),
        *_linear_x(queue),
        *_linear_y(queue, ""),
        *_frame(busy, "GPUs busy", f"{unit} since the first submission"),
        *_linear_x(busy),
        *_linear_y(busy, " %"),
    ]
    for run, colour in zip(runs, _colours(), strict=False):
        waiting = _over_time(run, begin_s, end_s, unit_s, "waiting_jobs", 1)
        parts.append(_line(queue, waiting, colour))
        parts.append(_line(busy, _over_time(run, begin_s, end_s, unit_s, "busy_gpus", 100 / (run.gpus or 1)), colour))
    parts += _distribution(runs)
    return "\n".join([*parts, "</svg>", ""])


def _head(runs: Sequence[Run]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12" fill="#333">'
    )
    yield f"<title>{escape(', '.join(run.policy for run in runs))}</title>"
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    at = float(_LEFT)
    for run, colour in zip(runs, _colours(), strict=False):
        yield f'<rect x="{at:.1f}" y="18" width="18" height="6" fill="{colour}"/>'
        yield _text(at + 24, 25, run.policy, size=13)
        at += 44 + 8 * len(run.policy)


def _distribution(runs: Sequence[Run]) -> Iterator[str]:
    """The share of jobs that are done so long after their submission, on a logarithmic axis."""
    times = [sorted(max(done.jct_s, 1.0) for done in run.finished) for run in runs]
    low = math.floor(math.log10(min((each[0] for each in times if each), default=1.0)))
    high = math.ceil(math.log10(max((each[-1] for each in times if each), default=10.0)))
    panel = _Panel(_FIRST_TOP + 2 * _PITCH, low, max(high, low + 1), 100)
    yield from _frame(panel, "Jobs done within", "time from submission to end (JCT)")
    for seconds, name in _DECADE_NAMES.items():
        if panel.x_from <= math.log10(seconds) <= panel.x_to:
            yield from _tick_x(panel, math.log10(seconds), name)
    yield from _linear_y(panel, " %")
    for ordered, colour in zip(times, _colours(), strict=False):
        yield _line(panel, _cumulative(ordered), colour)


def _cumulative(ordered: Sequence[float]) -> list[Point]:
    """Returns at most one point for each pixel of either axis, however many jobs there are."""
    points: list[Point] = []
    step = max(len(ordered) // (_PLOT * 2), 1)
    for place in [*range(0, len(ordered), step), len(ordered) - 1]:
        if place >= 0:
            x = math.log10(ordered[place])
            points += [(x, points[-1][1] if points else 0.0), (x, (place + 1) / len(ordered) * 100)]
    return points


def _over_time(run: Run, begin_s: float, end_s: float, unit_s: float, field: str, factor: float) -> list[Point]:
    """The mean in each pixel's stretch of time, so that a hundred thousand samples draw as quickly as ten."""
    stretch_s = (end_s - begin_s) / _PLOT or 1.0
    sums = [0.0] * _PLOT
    for sample, lasted_s in spans(run):
        for pixel, part_s in _pixels(sample, lasted_s, begin_s, stretch_s):
            sums[pixel] += getattr(sample, field) * part_s
    return [
        (place * stretch_s / unit_s, total / stretch_s * factor)
        for pixel, total in enumerate(sums)
        for place in (pixel, pixel + 1)
    ]


def _pixels(sample: Sample, lasted_s: float, begin_s: float, stretch_s: float) -> Iterator[tuple[int, float]]:
    at_s, until_s = sample.at_s - begin_s, sample.at_s - begin_s + lasted_s
    for pixel in range(max(int(at_s / stretch_s), 0), min(int(until_s / stretch_s) + 1, _PLOT)):
        part_s = min(until_s, (pixel + 1) * stretch_s) - max(at_s, pixel * stretch_s)
        if part_s > 0:
            yield pixel, part_s


def _frame(panel: _Panel, title: str, below: str) -> Iterator[str]:
    yield _text(_LEFT, panel.top - 10, title, size=14, weight="bold")
    yield f'<rect x="{_LEFT}" y="{panel.top}" width="{_PLOT}" height="{_PANEL_HEIGHT}" fill="none" stroke="#999"/>'
    yield _text(_LEFT + _PLOT, panel.top + _PANEL_HEIGHT + 32, below, anchor="end")


def _linear_x(panel: _Panel) -> Iterator[str]:
    for value in _round_values(panel.x_to):
        yield from _tick_x(panel, value, f"{value:g}")


def _linear_y(panel: _Panel, unit: str) -> Iterator[str]:
    for value in _round_values(panel.y_to):
        y = panel.y(value)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _PLOT}" y2="{y:.1f}" stroke="#e5e5e5"/>'
        yield _text(_LEFT - 6, y + 4, f"{value:g}{unit}", anchor="end")


def _tick_x(panel: _Panel, value: float, name: str) -> Iterator[str]:
    x, bottom = panel.x(value), panel.top + _PANEL_HEIGHT
    yield f'<line x1="{x:.1f}" y1="{panel.top}" x2="{x:.1f}" y2="{bottom + 4}" stroke="#e5e5e5"/>'
    yield _text(x, bottom + 17, name, anchor="middle")


def _line(panel: _Panel, points: Sequence[Point], colour: str) -> str:
    shown = [(f"{panel.x(x):.1f}", f"{panel.y(y):.1f}") for x, y in points]
    corners = [
        point
        for before, point, after in zip([("", ""), *shown], shown, [*shown[1:], ("", "")], strict=False)
        if not before[1] == point[1] == after[1]
    ]
    path = " ".join(f"{x},{y}" for x, y in corners)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: str = "normal") -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'


def _round_values(highest: float) -> list[float]:
    """0 and then steps of 1, 2 or 5 times a power of ten, about five of them."""
    if highest <= 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(highest / 5))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * 5 >= highest * (1 - 1e-9))
    return [number * step for number in range(int(highest / step + 1e-9) + 1)]


def _ceiling(highest: float) -> float:
    """A round number above, so that the line does not touch the frame."""
    values = _round_values(max(highest, 1.0))
    return values[-1] + (values[1] - values[0])


def _colours() -> Iterator[str]:
    while True:
        yield from COLOURS
