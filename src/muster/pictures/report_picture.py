"""Draws a report as SVG: GPU hours, waits and failures of each group, as bars. It follows the light or dark scheme of
whoever looks at it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.lib.quantities import about_duration, about_number
from muster.pictures.svg import safe

Raw = Mapping[str, Any]
FAULT_KINDS = ("user", "platform", "capacity", "configuration", "limit")
WIDTH = 960
_NAME_WIDTH, _BAR_LEFT, _BAR_WIDTH = 150, 170, 640
_ROW, _BAR = 24, 14
_PANEL_GAP, _FIRST_TOP = 56, 92
_MOST_GROUPS = 30
_LONGEST_NAME = 20
_STYLE = """<style>
text { fill: #24292f; font-family: sans-serif; font-size: 12px }
.page { fill: #ffffff } .axis { stroke: #8c959f } .title { font-size: 16px } .name { text-anchor: end }
.busy { fill: #0072b2 } .idle { fill: #e69f00 } .unmeasured { fill: #999999 } .cpu { fill: #56b4e9 }
.median { fill: #009e73 } .p95 { fill: #999999 }
.user { fill: #d55e00 } .platform { fill: #0072b2 } .capacity { fill: #e69f00 } .configuration { fill: #cc79a7 }
.limit { fill: #999999 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .page { fill: #0d1117 } .axis { stroke: #6e7681 } }
</style>"""
Bar = tuple[Sequence[tuple[str, float]], str]
"""The parts of a bar, each with its class, and the text beside it."""


def draw_report(report: Raw) -> str:
    """The text of the picture; the same for the same report."""
    lines = list(report["items"])[:_MOST_GROUPS]
    panels = [
        _hours(lines),
        ("Waits: median and 95th percentile", ("median", "p95"), [_waits(line) for line in lines]),
        ("Failed jobs, by cause", FAULT_KINDS, [_failures(line) for line in lines]),
    ]
    pitch = _PANEL_GAP + _ROW * max(len(lines), 1)
    height = _FIRST_TOP + pitch * len(panels)
    parts = [*_head(report, height, len(report["items"]) - len(lines))]
    for place, (title, legend, bars) in enumerate(panels):
        parts += _panel(_FIRST_TOP + place * pitch, title, legend, [line["group"] for line in lines], bars)
    return "\n".join([*parts, "</svg>", ""])


def height_of(report: Raw) -> int:
    return _FIRST_TOP + (_PANEL_GAP + _ROW * max(min(len(report["items"]), _MOST_GROUPS), 1)) * 3


def _hours(lines: Sequence[Raw]) -> tuple[str, Sequence[str], list[Bar]]:
    if not any(line["gpuHours"] for line in lines):
        bars: list[Bar] = [([("cpu", line["cpuHours"])], f"{about_number(line['cpuHours'])} h") for line in lines]
        return "CPU hours", ("cpu",), bars
    return "GPU hours", ("busy", "idle", "unmeasured"), [_gpu_hours(line) for line in lines]


def _gpu_hours(line: Raw) -> Bar:
    idle, unknown = line["idleGpuHours"], line["unmeasuredGpuHours"]
    parts = [("busy", max(0.0, line["gpuHours"] - idle - unknown)), ("idle", idle), ("unmeasured", unknown)]
    return parts, f"{about_number(line['gpuHours'])} h"


def _waits(line: Raw) -> Bar:
    median, high = line["medianWaitS"], line["p95WaitS"]
    if median is None or high is None:
        return [], "-"
    return [("median", median), ("p95", max(0.0, high - median))], f"{about_duration(median)}, {about_duration(high)}"


def _failures(line: Raw) -> Bar:
    failures = line["failures"]
    return [(kind, float(failures.get(kind, 0))) for kind in FAULT_KINDS], failures_text(failures) or "none"


def failures_text(failures: Mapping[str, int]) -> str | None:
    return " ".join(f"{kind}={count}" for kind, count in failures.items()) or None


def _head(report: Raw, height: float, left_out: int) -> Iterator[str]:
    title = f"Usage by {report['by']}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
    )
    yield f"<title>{safe(title)}</title>"
    yield _STYLE
    yield f'<rect class="page" width="{WIDTH}" height="{height:.0f}"/>'
    yield f'<text class="title" x="20" y="30">{safe(title)}</text>'
    more = f"; {left_out} more groups are left out" if left_out else ""
    words = f"{report['since']} to {report['until']}, idle below {report['idleBelow']:g} %{more}"
    yield f'<text x="20" y="50">{safe(words)}</text>'


def _panel(top: float, title: str, legend: Sequence[str], names: Sequence[str], bars: Sequence[Bar]) -> Iterator[str]:
    yield f'<text class="title" x="20" y="{top:.0f}">{safe(title)}</text>'
    at = float(_BAR_LEFT + 160)
    for name in legend:
        yield f'<rect class="{name}" x="{at:.0f}" y="{top - 10:.0f}" width="12" height="10"/>'
        yield f'<text x="{at + 16:.0f}" y="{top:.0f}">{safe(name)}</text>'
        at += 34 + 8 * len(name)
    if not names:
        yield f'<text x="20" y="{top + _ROW:.0f}">no jobs</text>'
        return
    longest = max((sum(value for _, value in parts) for parts, _ in bars), default=0.0) or 1.0
    for place, (name, (parts, words)) in enumerate(zip(names, bars, strict=True)):
        yield from _bar(top + 10 + place * _ROW, name, parts, words, longest)
    bottom = top + 10 + len(names) * _ROW
    yield f'<line class="axis" x1="{_BAR_LEFT}" y1="{top + 8:.0f}" x2="{_BAR_LEFT}" y2="{bottom:.0f}"/>'


def _bar(top: float, name: str, parts: Sequence[tuple[str, float]], words: str, longest: float) -> Iterator[str]:
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    yield f'<text class="name" x="{_NAME_WIDTH}" y="{top + 12:.0f}">{safe(short)}</text>'
    at = float(_BAR_LEFT)
    for kind, value in parts:
        width = value / longest * (_BAR_WIDTH - 120)
        if width > 0:
            yield f'<rect class="{kind}" x="{at:.1f}" y="{top:.0f}" width="{width:.1f}" height="{_BAR}"/>'
        at += width
    yield f'<text x="{at + 6:.1f}" y="{top + 12:.0f}">{safe(words)}</text>'
