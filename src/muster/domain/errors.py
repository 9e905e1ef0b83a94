"""The error tree: one class per reaction of the caller.

    MusterError
    ├── Invalid          the request is wrong: fix it (all problems are reported at once, each with its path)
    │   └── Unplaceable  no node could ever run the job: ask for less
    ├── NotAuthenticated the user is unknown: log in
    ├── Forbidden        the user lacks the rights: ask the owner or an admin
    ├── NotFound         the object does not exist, or the user may not see it
    ├── Conflict         the request does not fit the current state: look at the state, then decide
    │   └── StaleWrite   someone else wrote first: load again and retry
    ├── TooLarge         a size limit was exceeded: send less
    ├── TooMany          the caller has or sends too much at once: wait, then try again
    ├── NotOffered       the cluster does not offer this: use another cluster, or do without
    ├── Unavailable      a component of the server, such as its store, is not available now: try again later
    │   ├── Superseded   another server holds the lease: it answers the same request
    │   ├── HistoryAway  the log server does not answer: ask again later, and no other server for it
    │   └── StorageFull  the disk of the server or of its database is full: an admin frees space
    ├── BadAnswer        what a job serves does not answer as a web server: look at the job
    └── BackendError     the cluster's backend failed
        ├── Rejected     the same request can never work: change it
        └── Unreachable  no answer came, so it may have happened: ask again

A message says what happened, why, and what to do next. `code` is stable and public.
"""

from dataclasses import dataclass

CONNECTION_LOST = "connection-lost"
"""The `reason` of every Unreachable error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a spec or a setting: its path, the line if it is known, what is wrong and how to fix it. `file` is
    set if there are several files."""

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
        self.warnings: tuple[str, ...] = ()
        """What would have been said beside success: parts of a job file that have no effect."""


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


class TooMany(MusterError):
    """The caller, or the address of the caller, is over a bound of its own. Other callers are served."""

    code = "too-many-requests"

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class NotOffered(MusterError):
    """The backend of the cluster does not have the capability. A retry does not help."""

    code = "not-offered"

    def __init__(self, capability: str, cluster: str, *, hint: str = "") -> None:
        super().__init__(f"cluster {cluster} does not offer {capability}", hint=hint)
        self.capability = capability
        self.cluster = cluster


class Unavailable(MusterError):
    code = "unavailable"

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class Superseded(Unavailable):
    """This server does not hold the lease (any more), so that nothing was written."""


class HistoryAway(Unavailable):
    """The log server does not answer. Jobs go on without it."""

    code = "history-away"


class StorageFull(Unavailable):
    """Nothing of the request was stored. Requests that only read are answered."""

    code = "storage-full"

    def __init__(self, where: str) -> None:
        hint = "an admin must free space; nothing was stored, so send the request again then"
        super().__init__(f"the disk of {where} is full", hint=hint, retry_after_s=60.0)


class BadAnswer(MusterError):
    """The program of a job answered, and not as HTTP demands it."""

    code = "bad-answer"


class BackendError(MusterError):
    """`reason` is the backend's own code for the failure."""

    code = "backend-error"

    def __init__(self, message: str, *, hint: str = "", reason: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class Rejected(BackendError):
    """The same request can never succeed."""


class Unreachable(BackendError):
    """There was no answer. The request may have been carried out anyway."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, reason=CONNECTION_LOST)
