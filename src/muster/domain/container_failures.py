"""Tells from the words of a container engine or registry why a container did not start, and whose fault that is."""

import re
from collections.abc import Sequence

IMAGE, REGISTRY, ENGINE = "image", "registry", "container-engine"
"""The launch errors: there is no such image for this account, no registry answers, and everything else."""
ENGINE_FAILED = 125
"""The exit code by which podman and docker say that they failed themselves, before the program."""
_ENGINE_WORDS = re.compile(r"(?:Error|docker): (?P<words>.+)")
_LAST_LINES = 5
_GONE = (
    *("not found", "manifest unknown", "does not exist", "unauthorized", "access denied", "forbidden"),
    *("did not resolve to an alias", "no such image", "image not known"),
)
"""What is said about an image that nobody will ever get with this name and account."""
_UNREACHABLE = (
    *("pinging container registry", "dial tcp", "connection refused", "no such host", "network is unreachable"),
    *("i/o timeout", "tls handshake", "deadline exceeded", "client.timeout", "connection reset"),
)


def is_gone(words: str) -> bool:
    """Whether no amount of waiting brings the image."""
    return any(one in words.lower() for one in _GONE)


def engine_failure(lines: Sequence[str]) -> tuple[str, str] | None:
    """The launch error and the engine's own words, from the last lines of the log of a container whose end was
    ENGINE_FAILED. None if the engine has said nothing: then a program ended with that code."""
    for line in reversed([line for line in lines if line.strip()][-_LAST_LINES:]):
        if found := _ENGINE_WORDS.match(line):
            words = found["words"]
            is_unreachable = any(one in words.lower() for one in _UNREACHABLE)
            return REGISTRY if is_unreachable else IMAGE if is_gone(words) else ENGINE, words
    return None
