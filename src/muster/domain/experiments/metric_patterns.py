"""Metrics in the lines of a log, by patterns of the job: `loss=(?P<loss>\\S+)`.

The name of a group is that of a metric, and its text is the value. The group `step` is the step. A pattern with the
groups `name` and `value` finds metrics by their names in the log.
"""

from collections.abc import Iterator, Sequence

from muster.domain.experiments.job_metrics import MOST_STEP, name_problem
from muster.lib.linear_patterns import BadPattern, LinearPattern

MOST_PATTERNS = 20
LONGEST_PATTERN = 1000
LONGEST_LINE = 4096
"""Nothing behind so many bytes of a line is looked at."""
STEP, NAME, VALUE = "step", "name", "value"

Found = tuple[str, int | None, float]
"""Name, step if the line has one, and value."""


def pattern_problem(source: str) -> str:
    """Why this is no pattern of metrics; empty if it is one."""
    try:
        groups = set(LinearPattern(source).groups)
    except BadPattern as error:
        return f"it is not a regular expression as RE2 has it: {error}"
    if not groups - {STEP, NAME, VALUE} and not groups >= {NAME, VALUE}:
        return "it has no group that names a metric, such as loss=(?P<loss>[0-9.]+)"
    return ""


class MetricPatterns:
    def __init__(self, sources: Sequence[str]) -> None:
        """Raises BadPattern."""
        self._patterns = [LinearPattern(source) for source in sources]

    def found(self, line: bytes) -> Iterator[Found]:
        """Every metric in the line. A value that is not a number is none."""
        line = line[:LONGEST_LINE]
        for pattern in self._patterns:
            groups = pattern.search(line)
            if groups is None:
                continue
            step = _step(groups.get(STEP))
            named = {NAME, VALUE} <= set(pattern.groups)
            values = {name: text for name, text in groups.items() if name != STEP and not (named and name in _SPECIAL)}
            if named and NAME in groups and VALUE in groups:
                values[groups[NAME].strip()] = groups[VALUE]
            for name, text in values.items():
                value = _number(text)
                if value is not None and not name_problem(name):
                    yield name, step, value


_SPECIAL = (NAME, VALUE)


def _number(text: str) -> float | None:
    text = text.strip().rstrip(",;")
    percent = text.endswith("%")
    try:
        value = float(text.rstrip("%"))
    except ValueError:
        return None
    return value / 100 if percent else value


def _step(text: str | None) -> int | None:
    number = None if text is None else _number(text)
    return int(number) if number is not None and abs(number) <= MOST_STEP else None
