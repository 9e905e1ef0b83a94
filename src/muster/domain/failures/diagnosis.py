"""Failure diagnosis: turns exit code, signal, limits and the end of the log into one Fault.

Hard facts (lost node, launch error, limits) take precedence over the log, and the log over exit code and signal: a
program that printed "CUDA out of memory" and then exited with 1 has named its cause. Nothing here decides whether to
retry; a Fault only says whether a retry can help. An unknown cause may be temporary, so a retry can help there.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from muster.domain.failures.container_failures import engine_failure
from muster.domain.failures.exit_causes import (
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
from muster.domain.failures.faults import Fault, FaultKind
from muster.domain.failures.log_patterns import SYMPTOMS, Symptom
from muster.domain.failures.setup_failures import setup_failure
from muster.lib.quantities import format_bytes, format_duration

MAX_LINES = 200
MAX_LINE = 1000
RECENT_LINES = 60
EVIDENCE_LINES = 5
EVIDENCE_WIDTH = 300

PYTHON_EXCEPTION = Ending(
    "python-exception", FaultKind.USER, "The program ended with {exception}.",
    "The traceback in its log shows where; set retry.max to have it retried.", retryable=True,
)  # fmt: skip

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RANK_PREFIX = re.compile(r"^\[rank\d+\]: ?")
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?::|$)")
# Launchers raise these when a child failed: the child's own exception, further up, is the cause.
_WRAPPERS = ("torch.distributed.elastic", "subprocess.CalledProcessError", "SystemExit")
# Native code raises these after it has logged the details.
_VAGUE = ("RuntimeError", "OSError", "SystemError", "Exception")
_FROM_OUTSIDE = (1, 2, 9, 15)
_DISK_FULL = next(symptom.ending for symptom in SYMPTOMS if symptom.ending.code == "disk-full")
_KERNEL_SYMPTOMS = tuple(symptom for symptom in SYMPTOMS if symptom.ending.code == "host-memory")


def classify(
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    oom: bool = False,
    disk_full: bool = False,
    stopped: bool = False,
    lost: bool = False,
    error_code: str = "",
    error_message: str = "",
    is_contained: bool = False,
    is_pipe: bool = False,
    time_limit_hit: bool = False,
    log_tail: str = "",
    memory_bytes: int | None = None,
    time_limit_s: float | None = None,
    task: str | None = None,
) -> Fault:
    """The cause of a failure. `is_contained` says that a container engine of the node ran the program, and `is_pipe`
    that its command is a pipe of programs. `memory_bytes` and `time_limit_s` are what the task asked for; the message
    names them."""
    if is_contained and (failure := engine_failure(exit_code, _lines(log_tail))):
        error_code, error_message = failure
        exit_code = None  # it is the engine's, not the program's
    if lost:
        fault = LOST.fault()
        if error_message:
            said = _clause(error_message)
            fault = replace(fault, cause=f"The task was lost: {said}.", words={"message": said})
    elif error_code:
        fault = LAUNCH_ERRORS.get(error_code, LAUNCH_FAILED).fault(message=_clause(error_message or error_code))
    elif time_limit_hit:
        fault = _at_limit(TIME_LIMIT, " of {}", format_duration(time_limit_s) if time_limit_s else "")
    elif oom:
        fault = _at_limit(MEMORY, " ({})", format_bytes(memory_bytes) if memory_bytes else "")
    elif stopped:
        fault = STOPPED.fault()
    else:
        number = _signal(exit_code, signal)
        fault = (
            setup_failure(_lines(log_tail))
            or _from_log(log_tail, number, exit_code, is_pipe)
            or _from_disk(disk_full, number)
            or _from_end(exit_code, number)
        )
    return replace(fault, task=task, exit_code=exit_code, signal=signal)


def evidence(log_tail: str) -> list[str]:
    """The few log lines that show the cause: those up to the line that was recognised, or else the last ones."""
    lines = _lines(log_tail)
    found = _find_symptom(lines, SYMPTOMS) or _find_exception(lines)
    last = found[0] if found else len(lines) - 1
    shown = [line.rstrip() for line in lines[: last + 1] if line.strip()][-EVIDENCE_LINES:]
    return [line if len(line) <= EVIDENCE_WIDTH else line[: EVIDENCE_WIDTH - 1] + "…" for line in shown]


def _at_limit(ending: Ending, clause: str, limit: str) -> Fault:
    """The clause is how the cause names the limit, if it is known."""
    if not limit:
        return ending.fault(limit="")
    return replace(ending.fault(limit=clause.format(limit)), words={"limit": limit})


def _signal(exit_code: int | None, signal: int | None) -> int | None:
    if signal is None and exit_code is not None and 128 < exit_code <= 192:
        # A shell in between reports the signal of its child this way.
        return exit_code - 128
    return signal


def _from_log(log_tail: str, signal: int | None, exit_code: int | None, is_pipe: bool) -> Fault | None:
    lines = _lines(log_tail)
    symptoms = tuple(one for one in SYMPTOMS if one.exit_code in (None, exit_code) and (is_pipe or not one.in_pipe))
    if signal in _FROM_OUTSIDE:
        # The program was killed from outside, so its own output is not the cause, unless the kernel wrote it.
        found = _search(lines, range(len(lines)), _KERNEL_SYMPTOMS)
    else:
        found = _find_symptom(lines, symptoms) or _find_exception(lines)
    return found[1] if found else None


def _from_disk(disk_full: bool, signal: int | None) -> Fault | None:
    """On a full disk the program could not write the error to its log either."""
    return _DISK_FULL.fault() if disk_full and signal not in _FROM_OUTSIDE else None


def _from_end(exit_code: int | None, signal: int | None) -> Fault:
    if signal is not None:
        return SIGNALS.get(signal, SIGNALLED).fault(signal=signal)
    if exit_code is None:
        return NO_TRACE.fault()
    return EXIT_CODES.get(exit_code, EXITED).fault(exit_code=exit_code)


def _find_symptom(lines: list[str], symptoms: Sequence[Symptom]) -> tuple[int, Fault] | None:
    """Looks at the final exception and the lines after it first: the program may have recovered from earlier errors."""
    final = _find_exception(lines)
    if final is None:
        return _search(lines, range(len(lines)), symptoms)
    place = final[0]
    found = _search(lines, range(place, len(lines)), symptoms)
    if found is None and lines[place].startswith(_VAGUE):
        return _search(lines, range(place), symptoms)
    return found


def _search(lines: list[str], places: range, symptoms: Sequence[Symptom]) -> tuple[int, Fault] | None:
    for symptom in symptoms:
        for place in reversed(places):
            if match := symptom.pattern.search(lines[place]):
                words = {name: _clause(text or "") for name, text in match.groupdict().items()}
                return place, symptom.ending.fault(**words)
    return None


def _find_exception(lines: list[str]) -> tuple[int, Fault] | None:
    """The last line of the last traceback, unless it only reports the failure of a child process, or is so far up that
    the program evidently continued after it."""
    starts = [place for place, line in enumerate(lines) if _TRACEBACK in line]
    for start in reversed(starts):
        place = _after_frames(lines, start + 1)
        if place is None or place < len(lines) - RECENT_LINES:
            continue
        if _EXCEPTION.match(lines[place]) and not lines[place].startswith(_WRAPPERS):
            return place, PYTHON_EXCEPTION.fault(exception=_clause(lines[place]))
    return None


def _after_frames(lines: list[str], start: int) -> int | None:
    """The index of the first line that is not indented: the exception that follows the frames of a traceback."""
    return next((place for place in range(start, len(lines)) if lines[place] and not lines[place][0].isspace()), None)


def _lines(log_tail: str) -> list[str]:
    plain = _COLOUR.sub("", log_tail)
    return [_RANK_PREFIX.sub("", line[:MAX_LINE]) for line in plain.splitlines()[-MAX_LINES:]]


def _clause(text: str) -> str:
    """The message in a form that fits into a sentence: one line, no full stop, limited length."""
    shown = " ".join(text.split()).rstrip(".: ")
    return shown if len(shown) <= EVIDENCE_WIDTH else shown[: EVIDENCE_WIDTH - 1] + "…"
