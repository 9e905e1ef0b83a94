"""A file of several YAML documents, as people write for Kubernetes: the PaddleJob among them is the job."""

from muster.domain.errors import Invalid
from muster.wire.dialects.paddlejob import API_VERSION, KIND
from muster.wire.documents import Document, read_documents


def read_stream(text: str) -> tuple[Document, list[str]]:
    """The job's document, its lines counted in the whole file, and a warning for each document beside it."""
    parts = read_documents(text)
    if len(parts) == 1:
        return parts[0], []
    jobs = [part for part in parts if _kind(part) == (API_VERSION, KIND)]
    if len(jobs) != 1:
        found = f"{len(jobs)} PaddleJobs" if jobs else "no PaddleJob"
        raise Invalid(f"the file has {len(parts)} documents and {found} among them", hint="give one job a file")
    beside = [part for part in parts if part is not jobs[0] and part.data is not None]
    return jobs[0], [_left_alone(part) for part in beside]


def _kind(document: Document) -> tuple[object, object]:
    data = document.data if isinstance(document.data, dict) else {}
    return data.get("apiVersion"), data.get("kind")


def _left_alone(document: Document) -> str:
    line = document.lines.get(())
    version, kind = _kind(document)
    if kind == "PodGroup":
        return f"line {line}: the PodGroup is left alone: all tasks of a job start together or none does"
    return f"line {line}: {kind or 'a document'} ({version}) is left alone: only the PaddleJob is submitted"
