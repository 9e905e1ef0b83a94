"""Tells from the words of a container engine or registry why a container did not start, and whose fault that is."""

import re
from collections.abc import Sequence

IMAGE, DENIED, WORKDIR = "image", "image-denied", "workdir"
"""Launch errors: there is no such image, it is not for this account, or it has no folder in which to start."""
REGISTRY, ENGINE = "registry", "container-engine"
"""Other launch errors: no registry answers, and everything else."""
RUNTIME = "container-runtime"
"""The launch error of an engine that had all it needs and could not make the container. It is the platform's."""
ENGINE_FAILED = 125
"""The exit code by which podman and docker say that they failed themselves, before the program."""
_NOT_STARTED = 126
_ENGINE_WORDS = re.compile(r"(?:Error(?: response from daemon)?|docker): (?P<words>.+)")
_NO_WORKDIR = re.compile(r'(?P<words>workdir ".+" does not exist) on container \w+')
"""Podman says it with the exit code of a program that cannot be run. Docker makes the folder."""
_RUNTIME_WORDS = re.compile(r"\b(?:OCI|runc|crun)\b")
_NAMES_PROGRAM = re.compile(r"\bexec: |\bexecutable\b")
_MOUNTING = re.compile(r"\bmount")
_LAST_LINES = 5
_GONE = (
    *("not found", "manifest unknown", "does not exist"),
    *("did not resolve to an alias", "no such image", "image not known"),
)
"""What is said about an image that nobody will ever get with this name."""
_DENIED = (
    *("unauthorized", "access denied", "access to the resource is denied", "forbidden", "authentication required"),
    *("no basic auth credentials", "invalid username/password"),
)
"""What is said about an image that is not for this account. Registries say the same of one that is not there."""
_UNREACHABLE = (
    *("pinging container registry", "dial tcp", "connection refused", "network is unreachable"),
    *("i/o timeout", "tls handshake", "deadline exceeded", "client.timeout", "connection reset"),
)
_NO_REGISTRY = "no such host"
"""What is said of a registry whose name nobody knows. A name service that does not answer is told in other words."""


def image_failure(words: str) -> str | None:
    """The launch error if no amount of waiting brings the image, otherwise None."""
    said = words.lower()
    if any(one in said for one in _DENIED):
        return DENIED
    return IMAGE if any(one in said for one in _GONE) else None


def engine_failure(exit_code: int | None, lines: Sequence[str]) -> tuple[str, str] | None:
    """The launch error and the engine's own words, from the last lines of the log of a container. None if the engine
    has said nothing: then a program ended with that code."""
    if exit_code not in (ENGINE_FAILED, _NOT_STARTED):
        return None
    for line in reversed([line for line in lines if line.strip()][-_LAST_LINES:]):
        if found := _ENGINE_WORDS.match(line):
            words = found["words"]
            if missing := _NO_WORKDIR.fullmatch(words):
                return WORKDIR, missing["words"]
            if exit_code != ENGINE_FAILED:
                return _runtime_failure(words)
            return _pull_failure(words.lower()) or ENGINE, words
    return None


def _pull_failure(words: str) -> str | None:
    if _NO_REGISTRY in words:
        return IMAGE
    return REGISTRY if any(one in words for one in _UNREACHABLE) else image_failure(words)


def _runtime_failure(words: str) -> tuple[str, str] | None:
    """The same for an engine that ended as it does if the program cannot be run, which is its runtime's doing unless
    it names the program. Whether what is mounted is right, the job decides."""
    if not _RUNTIME_WORDS.search(words) or _NAMES_PROGRAM.search(words):
        return None
    return ENGINE if _MOUNTING.search(words) else RUNTIME, words
