"""What all pictures have in common: the page, its colours in the light and in the dark, and texts that XML can hold."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#8c564b")
"""Most colour-blind people tell them apart."""
STYLE = """<style>
text { fill: #24292f; font-family: sans-serif; font-size: 12px }
.page { fill: #ffffff } .axis { stroke: #8c959f } .title { font-size: 16px } .left { text-anchor: end }
.middle { text-anchor: middle } polyline { fill: none; stroke-width: 1.5 }
.over { paint-order: stroke; stroke: #ffffff; stroke-width: 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } .axis { stroke: #6e7681 }
.over { stroke: #0d1117 } }
</style>"""
LONGEST_LABEL = 14


class Box(NamedTuple):
    """The place at which something is drawn."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, part: float) -> float:
        return self.left + part * (self.right - self.left)

    def y(self, part: float) -> float:
        """Parts are counted from the bottom, as values are."""
        return self.bottom - part * (self.bottom - self.top)


def page(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    """The text of a whole picture."""
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{safe(title)}</title>",
        STYLE,
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="title" x="20" y="30">{safe(title)}</text>',
    ]
    return "\n".join([*head, *parts, "</svg>", ""])


def value_range(values: Sequence[float]) -> tuple[float, float]:
    """The lowest and the highest value, which are never the same."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def shortened(text: str, longest: int = LONGEST_LABEL) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def safe(text: str) -> str:
    """XML has no way to write control characters."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))
