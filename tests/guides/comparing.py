"""Whether a command printed what a page shows. What differs from run to run, and from machine to machine, is equal:
times, ids, ports, and the sizes of the machine. `…` stands for text or lines that the page leaves out."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["LEFT_OUT", "matches", "normalised"]

LEFT_OUT = "…"

_ALIKE: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?", "TIME"),
        (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
        (r"\b\d\d:\d\d(:\d\d)?\b", "TIME"),
        (r"\b(\d+(\.\d+)?(ms|[dhms]))+ ago\b", "AGO"),
        (r"\b(after|took|in|for|AGE) (\d+(\.\d+)?(ms|[dhms]) ?)+(?=$|\s|[:,.;)])", r"\1 DURATION "),
        (r"(?<=  )\d+(\.\d+)?[dhms]( \d+[hms])?(?=  |$)", "DURATION"),
        (r"\b1[0-9a-hj-km-np-tv-z]{15}\b", "ID"),
        (r"\b([a-z][a-z0-9]*)-[0-9a-f]{4}\b", r"\1-NEW"),
        (r"\bSHA256:\S+", "FINGERPRINT"),
        (r"\b[0-9a-f]{12,64}\b", "HASH"),
        (r"\b(mst|tok|muster)_[A-Za-z0-9_-]{16,}", "TOKEN"),
        (r'"(ranS|runTimeS|version|pid|queuedS|waitedS|size|bytes|epoch|seq|[a-zA-Z]+Bytes)": [\d.]+', r'"\1": NUMBER'),
        (r"\bepoch=\d+", "epoch=NUMBER"),
        (r"\bits job \d+\b", "its job NUMBER"),
        (r"(?<=:)\d{4,5}\b", "PORT"),
        (r"\b[1-6]\d{4}\b", "PORT"),
        (r"\b\d+(\.\d+)?(?=/\d+(\.\d+)? [KMGT]i?B\b)", "SIZE"),
        (r"\b\d+(\.\d+)? ([KMGT]i)?B(/s)?\b", "SIZE"),
        (r"\b\d+(\.\d+)? (cores|CPU)\b", r"N \2"),
        (r"/\d+(?=\s+SIZE)", "/N"),
        (r"[▁▂▃▄▅▆▇█]+", "CURVE"),
        (r"(?<=CURVE) +\d+(\.\d+)?", " LOAD"),
        (r"\b\d+(\.\d+)?%", "N%"),
        (r"-{4,}", "----"),
        (r"\s+$", ""),
        (r"(?<=\S)\s{2,}", "  "),
    )
]
_OF_TASK = re.compile(r"^(\S+) \| ?(.*)$")


def normalised(line: str) -> str:
    for pattern, replacement in _ALIKE:
        line = pattern.sub(replacement, line)
    return line


def matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    return _fits(_pieces(shown), _pieces(printed))


@dataclass(frozen=True)
class _Logs:
    """Lines of several tasks next to each other. Tasks print at the same time, so only the order within each counts."""

    by_task: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def fits(self, printed: "_Logs") -> bool:
        if LEFT_OUT in self.by_task:
            named = self.by_task.keys() - {LEFT_OUT}
            return all(_is_within(self.by_task[task], printed.by_task.get(task, [])) for task in named)
        return self.by_task.keys() == printed.by_task.keys() and all(
            _fits(list(lines), list(printed.by_task[task])) for task, lines in self.by_task.items()
        )


_Piece = str | _Logs


def _pieces(lines: Sequence[str]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for line in _without_blank_ends([normalised(line) for line in lines]):
        last = pieces[-1] if pieces else None
        of_task = _OF_TASK.match(line)
        if of_task:
            if not isinstance(last, _Logs):
                last = _Logs()
                pieces.append(last)
            last.by_task[of_task[1]].append(of_task[2])
        elif line == LEFT_OUT and isinstance(last, _Logs):
            last.by_task[LEFT_OUT].append("")
        else:
            pieces.append(line)
    if pieces and isinstance(pieces[-1], _Logs) and LEFT_OUT in pieces[-1].by_task:
        pieces.append(LEFT_OUT)
    return pieces


def _without_blank_ends(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _fits(shown: Sequence[_Piece], printed: Sequence[_Piece]) -> bool:
    """`reach` is how many printed pieces may have been used up by the shown pieces so far."""
    reach = {0}
    for piece in shown:
        if isinstance(piece, str) and piece.strip() == LEFT_OUT:
            reach = set(range(min(reach), len(printed) + 1)) if reach else reach
        else:
            reach = {used + 1 for used in reach if used < len(printed) and _is_alike(piece, printed[used])}
    return len(printed) in reach


def _is_alike(shown: _Piece, printed: _Piece) -> bool:
    if isinstance(shown, _Logs) or isinstance(printed, _Logs):
        return isinstance(shown, _Logs) and isinstance(printed, _Logs) and shown.fits(printed)
    if LEFT_OUT not in shown:
        return shown == printed
    pattern = ".*".join(re.escape(part) for part in shown.split(LEFT_OUT))
    return re.fullmatch(pattern, printed) is not None


def _is_within(wanted: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the lines contain the wanted ones in their order."""
    rest = iter(lines)
    return all(any(_is_alike(one, line) for line in rest) for one in wanted)
