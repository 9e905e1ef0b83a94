"""Draws curves of a metric as SVG, one for each job. It follows the light or dark scheme of whoever looks at it."""

from collections.abc import Iterator, Sequence

from muster.pictures.svg import COLOURS, Box, page, safe, value_range
from muster.pictures.ticks import ticks_between

Point = tuple[float, float]
WIDTH, HEIGHT = 960, 540
_BOX = Box(80, 60, 720, 490)
_MOST_NAMES = 20


def draw_curves(metric: str, curves: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """The text of the picture: the name and the points of each curve, all of them finite."""
    points = [point for _, curve in curves for point in curve]
    low_x, high_x = value_range([x for x, _ in points])
    low_y, high_y = value_range([y for _, y in points])

    def place(point: Point) -> str:
        x, y = (point[0] - low_x) / (high_x - low_x), (point[1] - low_y) / (high_y - low_y)
        return f"{_BOX.x(x):.1f},{_BOX.y(y):.1f}"

    parts = [*_axes(low_x, high_x, low_y, high_y)]
    for number, (name, curve) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline stroke="{colour}" points="{" ".join(map(place, curve))}"/>')
        if number < _MOST_NAMES:
            y = _BOX.top + 20 * number
            parts.append(f'<rect fill="{colour}" x="{_BOX.right + 20}" y="{y}" width="12" height="10"/>')
            parts.append(f'<text x="{_BOX.right + 38}" y="{y + 10}">{safe(name[:30])}</text>')
    return page(metric, WIDTH, HEIGHT, parts)


def _axes(low_x: float, high_x: float, low_y: float, high_y: float) -> Iterator[str]:
    yield f'<line class="axis" x1="{_BOX.left}" y1="{_BOX.top}" x2="{_BOX.left}" y2="{_BOX.bottom}"/>'
    yield f'<line class="axis" x1="{_BOX.left}" y1="{_BOX.bottom}" x2="{_BOX.right}" y2="{_BOX.bottom}"/>'
    for step, label in ticks_between(low_x, high_x, is_whole=True):
        x = _BOX.x((step - low_x) / (high_x - low_x))
        yield f'<text class="middle" x="{x:.1f}" y="{_BOX.bottom + 20}">{label}</text>'
    for value, label in ticks_between(low_y, high_y):
        y = _BOX.y((value - low_y) / (high_y - low_y))
        yield f'<text class="left" x="{_BOX.left - 8}" y="{y + 4:.1f}">{label}</text>'
    yield f'<text class="middle" x="{_BOX.x(0.5):.0f}" y="{_BOX.bottom + 40}">step</text>'
