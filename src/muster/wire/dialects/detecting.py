"""Which dialect a document is written in."""

from muster.domain.errors import Invalid
from muster.wire.dialects import openpai, paddlejob
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document

_SEE = "Muster takes its own specs, PaddleJobs and OpenPAI jobs of protocol 2"


def translate(document: Document) -> Translation | None:
    """None for a Muster spec, which needs none. Raises Invalid for a foreign document that no dialect here reads."""
    data = document.data
    if not isinstance(data, dict) or "roles" in data or "command" in data:
        return None
    if "protocolVersion" in data:
        if str(data["protocolVersion"]) == "2":
            return openpai.translate(document)
        raise Invalid(f"this is OpenPAI protocol {data['protocolVersion']!r}, and Muster reads protocol 2", hint=_SEE)
    if "apiVersion" in data:
        if (data["apiVersion"], data.get("kind")) == (paddlejob.API_VERSION, paddlejob.KIND):
            return paddlejob.translate(document)
        what = f"{data.get('kind')} ({data['apiVersion']})"
        raise Invalid(f"this is a Kubernetes {what}, not a PaddleJob ({paddlejob.API_VERSION})", hint=_SEE)
    return None
