"""Draws curves of a metric as SVG, one for each job. It follows the light or dark scheme of whoever looks at it."""

from collections.abc import Iterator, Sequence

from muster.lib.quantities import about_number
from muster.pictures.svg import COLOURS, page, safe, value_range

Point = tuple[float, float]
WIDTH, HEIGHT = 960, 540
_LEFT, _TOP, _RIGHT, _BOTTOM = 80, 60, 720, 490
_TICKS = 5
_MOST_NAMES = 20


def draw_curves(metric: str, curves: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """The text of the picture: the name and the points of each curve, all of them finite."""
    points = [point for _, curve in curves for point in curve]
    low_x, high_x = value_range([x for x, _ in points])
    low_y, high_y = value_range([y for _, y in points])

    def place(point: Point) -> str:
        x = _LEFT + (point[0] - low_x) / (high_x - low_x) * (_RIGHT - _LEFT)
        y = _BOTTOM - (point[1] - low_y) / (high_y - low_y) * (_BOTTOM - _TOP)
        return f"{x:.1f},{y:.1f}"

    parts = [*_axes(low_x, high_x, low_y, high_y)]
    for number, (name, curve) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline stroke="{colour}" points="{" ".join(map(place, curve))}"/>')
        if number < _MOST_NAMES:
            y = _TOP + 20 * number
            parts.append(f'<rect fill="{colour}" x="{_RIGHT + 20}" y="{y}" width="12" height="10"/>')
            parts.append(f'<text x="{_RIGHT + 38}" y="{y + 10}">{safe(name[:30])}</text>')
    return page(metric, WIDTH, HEIGHT, parts)


def _axes(low_x: float, high_x: float, low_y: float, high_y: float) -> Iterator[str]:
    yield f'<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{_BOTTOM}"/>'
    yield f'<line class="axis" x1="{_LEFT}" y1="{_BOTTOM}" x2="{_RIGHT}" y2="{_BOTTOM}"/>'
    for tick in range(_TICKS + 1):
        part = tick / _TICKS
        x, y = _LEFT + part * (_RIGHT - _LEFT), _BOTTOM - part * (_BOTTOM - _TOP)
        step, value = low_x + part * (high_x - low_x), low_y + part * (high_y - low_y)
        yield f'<text class="middle" x="{x:.0f}" y="{_BOTTOM + 20}">{safe(about_number(step))}</text>'
        yield f'<text class="left" x="{_LEFT - 8}" y="{y + 4:.0f}">{value:.4g}</text>'
    yield f'<text class="middle" x="{(_LEFT + _RIGHT) // 2}" y="{_BOTTOM + 40}">step</text>'
