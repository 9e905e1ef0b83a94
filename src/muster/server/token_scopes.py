"""What a token allows, by the method and the path of a request. Everything that is not listed here is refused to a
token that does not have the scope `admin`."""

import re

from muster.domain.accounts import Token, TokenScope
from muster.domain.errors import Forbidden

_READING = ("GET", "HEAD")
_SUBMITTING = re.compile(
    r"/api/v1/(jobs(:bulk|:handed-on(/.*)?|/.*)?|sweeps(/.*)?|models(/.*)?|packages/.*|clusters/[^/]+/files(/.*)?)"
)
_FOR_EVERYBODY = "/api/v1/server/write-check"
"""It writes nothing but that the token was used, which every call does."""
_WIDENING = (TokenScope.READ, TokenScope.SUBMIT, TokenScope.ADMIN)
_OF_ANY_JOB = re.compile(r"/api/v1/(whoami|logout|login)")


def require_scope(token: Token, method: str, path: str) -> None:
    if token.scope is TokenScope.ADMIN and token.job_id is None:
        return
    if path == "/api/v1/logout":
        return
    if token.job_id is not None and not _is_of_job(token.job_id, path):
        raise _of_another_job(token)
    if _is_in_scope(token.scope, method, path):
        return
    needed = next(scope for scope in _WIDENING if _is_in_scope(scope, method, path))
    of_job = f" --job {token.job_id}" if token.job_id else ""
    raise Forbidden(
        f"this token has the scope {token.scope}, and this needs {needed}",
        hint=f"log in with `muster login`, or create another token: muster tokens create NAME --scope {needed}{of_job}",
    )


def require_token_of(token: Token, job_ref: str) -> None:
    """Raises Forbidden if the token is for one job, and not for this. Requests name jobs outside of their path, too."""
    if token.job_id not in (None, job_ref):
        raise _of_another_job(token)


def require_token_of_any_job(token: Token, what: str) -> None:
    """Raises Forbidden if the token is for one job."""
    if token.job_id is not None:
        raise Forbidden(f"this token is for job {token.job_id} only, and cannot {what}", hint="log in: muster login")


def _of_another_job(token: Token) -> Forbidden:
    return Forbidden(f"this token is for job {token.job_id} only", hint="name the job by its id")


def _is_in_scope(scope: TokenScope, method: str, path: str) -> bool:
    if method in _READING or scope is TokenScope.ADMIN or path == _FOR_EVERYBODY:
        return True
    return scope is TokenScope.SUBMIT and _SUBMITTING.fullmatch(path) is not None


def _is_of_job(job_id: str, path: str) -> bool:
    own = f"/api/v1/jobs/{job_id}"
    return path == own or path.startswith(f"{own}/") or _OF_ANY_JOB.fullmatch(path) is not None
