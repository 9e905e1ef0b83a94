"""One question about Muster: what it needs to know of which peers, and how it is answered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.peers.figures import Measure, PeerFigures
from bench.scale import Scale
from bench.table import Row, Sheet

Figures = Mapping[str, PeerFigures]


@dataclass(frozen=True)
class Case:
    name: str
    summary: str
    run: Callable[[Scale, Figures], Sequence[Row | Sheet]]
    bars: Callable[[Figures], Sequence[Row]]
    """The same rows without Muster's figures: what is printed when it could not be measured."""
    peers: Mapping[str, frozenset[Measure]] = field(default_factory=dict)
