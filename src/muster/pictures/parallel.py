"""Draws runs as parallel coordinates: an axis for each parameter and metric, and a line for each run. Lines have the
colour of their place on the last axis."""

from collections.abc import Iterator, Sequence

from muster.pictures.scales import Scale, Value, scale_of
from muster.pictures.svg import Box, page, safe, shortened

WIDTH, HEIGHT = 960, 540
_BOX = Box(80, 90, 880, 500)
_MOST_LABELS = 12
_LOW, _HIGH, _UNKNOWN = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), "#999999"
Column = tuple[str, Sequence[Value]]


def draw_parallel(title: str, columns: Sequence[Column]) -> str:
    """Each column has the value of each run, in the order of the axes."""
    return page(title, WIDTH, HEIGHT, parallel_parts(_BOX, [scale_of(name, values) for name, values in columns]))


def parallel_parts(box: Box, scales: Sequence[Scale]) -> Iterator[str]:
    """Draws the coordinates without the page around them."""
    last = max(len(scales) - 1, 1)
    xs = [box.x(0.5 if len(scales) == 1 else place / last) for place in range(len(scales))]
    count = len(scales[-1].places) if scales else 0
    for run in sorted(range(count), key=lambda one: scales[-1].places[one] or -1.0):
        yield from _lines(box, xs, [scale.places[run] for scale in scales])
    for x, scale in zip(xs, scales, strict=True):
        yield from _axis(box, x, scale)


def _lines(box: Box, xs: Sequence[float], places: Sequence[float | None]) -> Iterator[str]:
    """A run that lacks a value has a gap there. A value without a neighbour is a point, so that no run is unseen."""
    colour, together = _colour(places[-1]), list[str]()
    for x, place in [*zip(xs, places, strict=True), (0.0, None)]:
        if place is not None:
            together.append(f"{x:.1f},{box.y(place):.1f}")
            continue
        if len(together) > 1:
            yield f'<polyline stroke="{colour}" stroke-opacity="0.7" points="{" ".join(together)}"/>'
        elif together:
            across, down = together[0].split(",")
            yield f'<circle fill="{colour}" fill-opacity="0.7" cx="{across}" cy="{down}" r="3"/>'
        together = []


def _axis(box: Box, x: float, scale: Scale) -> Iterator[str]:
    yield f'<line class="axis" x1="{x:.1f}" y1="{box.top}" x2="{x:.1f}" y2="{box.bottom}"/>'
    name = f"{shortened(scale.name)} (log)" if scale.is_log else shortened(scale.name, 20)
    yield f'<text class="middle" x="{x:.1f}" y="{box.top - 14}">{safe(name)}</text>'
    apart = -(-len(scale.ticks) // _MOST_LABELS)
    for place, label in scale.ticks[::apart]:
        y = box.y(place) + 4
        yield f'<text class="left over" x="{x - 5:.1f}" y="{y:.1f}">{safe(shortened(label))}</text>'


def _colour(place: float | None) -> str:
    if place is None:
        return _UNKNOWN
    mixed = (round(low + place * (high - low)) for low, high in zip(_LOW, _HIGH, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)
