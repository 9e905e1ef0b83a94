"""The dialects of job files, and which of them a document is written in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.domain.errors import Invalid
from muster.wire.dialects import openpai, paddlejob
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document


@dataclass(frozen=True, slots=True)
class Dialect:
    """A foreign kind of job file. Other distributions offer theirs as entry points of the group `muster.dialects`."""

    name: str
    title: str
    """What such files are called in a sentence: Muster takes its own specs and these."""
    recognizes: Callable[[Mapping[str, Any]], bool]
    """Whether a document is written in it. Never raises, whatever the document is."""
    translate: Callable[[Document], Translation]


def _is_openpai(data: Mapping[str, Any]) -> bool:
    return str(data.get("protocolVersion")) == "2"


def _is_paddlejob(data: Mapping[str, Any]) -> bool:
    return (data.get("apiVersion"), data.get("kind")) == (paddlejob.API_VERSION, paddlejob.KIND)


DIALECTS = (
    Dialect("paddlejob", "PaddleJobs", _is_paddlejob, paddlejob.translate),
    Dialect("openpai", "OpenPAI jobs of protocol 2", _is_openpai, openpai.translate),
)
"""Those that Muster has itself."""


def translate(document: Document, dialects: Sequence[Dialect] = DIALECTS) -> Translation | None:
    """None for a Muster spec, which needs none. Raises Invalid for a foreign document that no dialect here reads."""
    data = document.data
    if not isinstance(data, dict) or "roles" in data or "command" in data:
        return None
    dialect = next((dialect for dialect in dialects if dialect.recognizes(data)), None)
    if dialect is not None:
        return dialect.translate(document)
    *titles, last = (dialect.title for dialect in dialects)
    hint = f"Muster takes its own specs, {', '.join(titles)} and {last}"
    if "protocolVersion" in data:
        message = f"this is OpenPAI protocol {data['protocolVersion']!r}, and Muster reads protocol 2"
        raise Invalid(message, hint=hint)
    if "apiVersion" in data:
        what = f"{data.get('kind')} ({data['apiVersion']})"
        raise Invalid(f"this is a Kubernetes {what}, not a PaddleJob ({paddlejob.API_VERSION})", hint=hint)
    return None
