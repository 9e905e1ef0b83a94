"""Tells from the log of a task whose setup failed why it did."""

import re
from collections.abc import Sequence

from muster.domain.failures.exit_causes import CONFIGURATION, USER, Ending
from muster.domain.failures.faults import Fault

SETUP_FAILED = Ending(
    "setup-failed", USER, "The setup of the job failed with exit code {exit_code}{said}.",
    "`muster logs JOB --setup` shows its output; fix `setup` or the files that it uses, and submit the job again.",
)  # fmt: skip
SETUP_NETWORK = Ending(
    "setup-network", CONFIGURATION, "The setup of the job could not download what it needs{said}.",
    "Check that the node reaches the package index, or set PIP_INDEX_URL in env; retry.max has it retried.",
    retryable=True,
)  # fmt: skip
_FAILED = re.compile(r"muster: setup: failed with exit code (?P<exit_code>\d+)\Z")
_OWN = "muster: setup: "
_NETWORK = re.compile(
    r"Temporary failure in name resolution|Name or service not known|No route to host|Network is unreachable"
    r"|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Read timed out|Connection (?:timed out|refused)"
    r"|Connection reset by peer|CondaHTTPError|Could not resolve host"
)
_ERROR = re.compile(r"(?:ERROR|Error|error|fatal): (?P<words>.+)")
_LONGEST = 200


def setup_failure(lines: Sequence[str]) -> Fault | None:
    """The fault of a task whose last line says that its setup failed; None for all others."""
    written = [line.strip() for line in lines if line.strip()]
    found = _FAILED.match(written[-1]) if written else None
    if found is None:
        return None
    starts = [place for place, line in enumerate(written) if line.startswith(_OWN)][:-1]
    output = written[starts[-1] + 1 if starts else 0 : -1]
    is_unreachable = any(_NETWORK.search(line) for line in output)
    ending = SETUP_NETWORK if is_unreachable else SETUP_FAILED
    return ending.fault(exit_code=found["exit_code"], said=_said(output))


def _said(output: Sequence[str]) -> str:
    """The last error that it names, or else its last line."""
    errors = [found["words"] for line in output if (found := _ERROR.search(line))]
    words = (errors or list(output) or [""])[-1].rstrip(".")
    return f": {words[:_LONGEST]}" if words else ""
