"""The reference page of faults in Markdown, generated from the rows that classify failures."""

from collections.abc import Iterable

from muster.domain.failures.diagnosis import PYTHON_EXCEPTION
from muster.domain.failures.exit_causes import (
    DEPENDENCY_FAILED,
    DEPENDENCY_GONE,
    EXIT_CODES,
    EXITED,
    LAUNCH_ERRORS,
    LAUNCH_FAILED,
    LOST,
    MEMORY,
    NO_TRACE,
    SIGNALLED,
    SIGNALS,
    STOPPED,
    TIME_LIMIT,
    Ending,
)
from muster.domain.failures.faults import FaultKind
from muster.domain.failures.log_patterns import SYMPTOMS
from muster.domain.failures.setup_failures import SETUP_FAILED, SETUP_NETWORK

_KINDS = {
    FaultKind.USER: "the program or how it was called; counts against `retry.max`",
    FaultKind.PLATFORM: "Muster, a node or the network; does not count against `retry.max`",
    FaultKind.CAPACITY: "something is used up for now; does not count against `retry.max`",
    FaultKind.CONFIGURATION: "job and node do not fit together; counts against `retry.max`",
    FaultKind.LIMIT: "a limit of the job or the node was reached; counts against `retry.max`",
}
_INTRODUCTION = """\
# Faults

The reasons why a task failed, as `muster explain` reports them. This page is generated from the table that classifies
failures. The first row that matches applies: first what Muster knows for certain, then the end of the log, then signal
and exit code.

"Retried" says whether another attempt can help. For faults that count against `retry.max`, that setting decides whether
there is one.
"""
_HEADINGS = "| code | kind | retried | cause | what to do |\n|---|---|---|---|---|\n"


def fault_table_markdown() -> str:
    kinds = "".join(f"| {kind.value} | {meaning} |\n" for kind, meaning in _KINDS.items())
    certain = (
        LOST,
        *LAUNCH_ERRORS.values(),
        LAUNCH_FAILED,
        TIME_LIMIT,
        MEMORY,
        DEPENDENCY_FAILED,
        DEPENDENCY_GONE,
        STOPPED,
    )
    log = (SETUP_NETWORK, SETUP_FAILED, *(symptom.ending for symptom in SYMPTOMS), PYTHON_EXCEPTION)
    ends = (*SIGNALS.values(), SIGNALLED, *EXIT_CODES.values(), EXITED, NO_TRACE)
    return "\n".join(
        (
            _INTRODUCTION,
            f"## Kinds\n\n| kind | meaning |\n|---|---|\n{kinds}",
            _section("Known for certain", certain),
            _section("From the end of the log", log),
            _section("From signal and exit code", ends),
        )
    )


def _section(title: str, endings: Iterable[Ending]) -> str:
    return f"## {title}\n\n{_HEADINGS}" + "".join(_line(ending) for ending in endings)


def _line(ending: Ending) -> str:
    again = "yes" if ending.retryable else "no"
    cells = (f"`{ending.code}`", ending.kind.value, again, _plain(ending.cause), _plain(ending.advice))
    return "| " + " | ".join(cells) + " |\n"


def _plain(template: str) -> str:
    """Shows placeholders as words, `{module}` as *module*, and alternatives such as `{peer}{other}` only once."""
    text = template.replace("{other}", "").replace("{limit}", "").replace("{said}", "").replace("|", "\\|")
    return text.replace("{", "*").replace("}", "*")
