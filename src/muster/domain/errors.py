"""The error tree: one class per reaction of the caller.

    MusterError
    ├── Invalid          the request is wrong: mend it (all problems at once, each with its path)
    │   └── Unplaceable  no node could ever hold the job: ask for less
    ├── NotAuthenticated who are you: log in
    ├── Forbidden        you may not: ask the owner or an admin
    ├── NotFound         there is no such thing (or none that you may see)
    ├── Conflict         right request, wrong moment: look at the state, then decide
    │   └── StaleWrite   somebody else wrote first: load again and retry
    ├── TooLarge         over a limit of size: send less
    ├── NotOffered       the cluster cannot do this at all: use another cluster, or do without
    └── Unavailable      a part is missing now: try later
        └── BackendError the backend could not do it; `retryable` says whether trying again can help

Messages say what, why and what to do next. `code` is stable and public.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a spec or a setting: where (path, and line of the file when known), what, and what would do.
    `file` is told where there are several."""

    path: str
    message: str
    hint: str = ""
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        place = f"{self.file}, {place}" if self.file and place else f"{self.file}: " if self.file else place
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.path}: {self.message}{hint}" if self.path else f"{place}{self.message}{hint}"


class MusterError(Exception):
    code = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Invalid(MusterError):
    code = "invalid"

    def __init__(self, message: str, *, hint: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class Unplaceable(Invalid):
    code = "unplaceable"


class NotAuthenticated(MusterError):
    code = "not-authenticated"


class Forbidden(MusterError):
    code = "forbidden"


class NotFound(MusterError):
    code = "not-found"


class Conflict(MusterError):
    code = "conflict"


class StaleWrite(Conflict):
    code = "stale-write"


class TooLarge(MusterError):
    code = "too-large"


class NotOffered(MusterError):
    """The cluster's backend does not have the capability. Trying again does not help."""

    code = "not-offered"

    def __init__(self, capability: str, cluster: str, *, hint: str = "") -> None:
        super().__init__(f"cluster {cluster} does not offer {capability}", hint=hint)
        self.capability = capability
        self.cluster = cluster


class Unavailable(MusterError):
    code = "unavailable"


class BackendError(Unavailable):
    code = "backend-error"

    def __init__(self, message: str, *, hint: str = "", reason: str = "", retryable: bool = True) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.retryable = retryable
