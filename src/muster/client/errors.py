"""The error of the client. Programs react to its `code`; people read its `message` and `hint`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

UNREACHABLE = "unreachable"
TIMED_OUT = "timed-out"
NOT_FOUND = "not-found"
FORBIDDEN = "forbidden"
CONFLICT = "conflict"
BAD_ANSWER = "bad-answer"
BAD_INPUT = "bad-input"
UNCONFIRMED = "unconfirmed"
NO_BACKEND = "backend-error"
"""The server answers, but the node or the engine behind it does not."""
_TOO_MANY = 429
_INTERNAL = 500
_UNAVAILABLE = 503
_BAD_GATEWAY, _GATEWAY_TIMEOUT = 502, 504
_DONE_NOTHING = (501, _UNAVAILABLE, 507)
"""The server gives these answers, which tell of a fault of its own, before it does anything."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a request, and where it is."""

    path: str
    message: str
    hint: str = ""
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        where = f"{self.file}, {where}" if self.file and where else f"{self.file}: " if self.file else where
        what = f"{self.path}: {self.message}" if self.path else self.message
        return f"{where}{what} ({self.hint})" if self.hint else f"{where}{what}"


class MusterError(Exception):
    """A request failed.

    `status` is the HTTP status, or 0 if there was no answer (`code` is then `unreachable` or `timed-out`).
    `retry_after_s` is set if the server said when to try again.

        try:
            Client().submit("job.yaml")
        except MusterError as error:
            for problem in error.problems:
                print(problem)
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int = 0,
        hint: str = "",
        problems: Sequence[Problem] = (),
        warnings: Sequence[str] = (),
        raw: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.hint = hint
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        """Parts of a job file that would have no effect."""
        self.raw = raw or {}
        self.retry_after_s = retry_after_s
        self.is_unsure = bool(self.raw.get("mayHaveHappened"))
        """Whether the request may have been carried out all the same, because an answer to it was lost."""
        self.reason = reason
        """Why there was no answer, in a few words."""
        for note in (*(f"  {problem}" for problem in self.problems), *([f"hint: {hint}"] if hint else [])):
            self.add_note(note)  # a traceback shows it

    @property
    def is_for_now(self) -> bool:
        """Whether the server has done nothing, and the same request may succeed later."""
        return self.status == _TOO_MANY or (self.status == _UNAVAILABLE and self.code == "unavailable")

    @property
    def is_of_proxy(self) -> bool:
        """Whether a proxy in front of the server answers that it got no answer."""
        return self.code == BAD_ANSWER and self.status in (_BAD_GATEWAY, _UNAVAILABLE, _GATEWAY_TIMEOUT)


def unreachable(server: str, why: str) -> MusterError:
    return MusterError(
        f"no Muster server at {server}; start one with `muster up` ({why})",
        code=UNREACHABLE,
        hint="check the address: `muster context list` shows the known servers, and MUSTER_SERVER overrides them",
        reason=why,
    )


def unconfirmed(server: str, key: str, why: MusterError) -> MusterError:
    return MusterError(
        f"it is not known whether {server} has taken the job: {why.message}",
        code=UNCONFIRMED,
        hint=f"`muster --server {server} get request {key}` tells once it answers again; ask before you submit the job"
        f" again (request key {key})",
        problems=why.problems,
        raw={"server": server, "requestKey": key},
    )


def needs_https(server: str, encrypted: str) -> MusterError:
    return MusterError(
        f"the server at {server} speaks HTTPS", code=BAD_INPUT, hint=f"use its address: muster login {encrypted}"
    )


def timed_out(server: str, seconds: float) -> MusterError:
    return MusterError(
        f"the Muster server at {server} did not answer within {seconds:.0f} s",
        code=TIMED_OUT,
        hint="it may be overloaded; run `muster doctor` to check",
        reason=f"no answer within {seconds:.0f} s",
    )


def from_answer(status: int, body: bytes, retry_after: str | None = None) -> MusterError:
    """The error in a problem+json answer. Any other answer becomes `bad-answer`."""
    try:
        raw = json.loads(body)
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or "code" not in raw:
        text = body[:200].decode("utf-8", "replace").strip()
        foreign = MusterError(
            f"the server answered with HTTP {status}: {text or 'nothing'}",
            code=BAD_ANSWER,
            status=status,
            hint="check that the address is a Muster server, and not a proxy in front of it",
        )
        foreign.is_unsure = status >= _INTERNAL and status not in _DONE_NOTHING
        return foreign
    told = MusterError(
        raw.get("detail") or raw.get("title") or f"HTTP {status}",
        code=str(raw["code"]),
        status=status,
        hint=raw.get("hint") or "",
        problems=[problem_of(item) for item in raw.get("problems") or ()],
        warnings=[str(text) for text in raw.get("warnings") or ()],
        raw=raw,
        retry_after_s=float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None,
    )
    told.is_unsure |= status == _INTERNAL
    return told


def problem_of(raw: Mapping[str, Any]) -> Problem:
    return Problem(
        path=str(raw.get("path") or ""),
        message=str(raw.get("message") or ""),
        hint=str(raw.get("hint") or ""),
        line=raw.get("line"),
        file=str(raw.get("file") or ""),
    )
