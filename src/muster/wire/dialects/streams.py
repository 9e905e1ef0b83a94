"""A file of several YAML documents, as people write for Kubernetes: the PaddleJob among them is the job."""

import yaml

from muster.domain.errors import Invalid
from muster.wire.dialects.paddlejob import API_VERSION, KIND
from muster.wire.documents import MAX_BYTES, Document, read_document

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_stream(text: str) -> tuple[Document, list[str]]:
    """The job's document, its lines counted in the whole file, and a warning for each document beside it."""
    starts = _starts(text)
    if len(starts) < 2:
        return read_document(text), []
    parts = [read_document(_alone(text, start, end)) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    jobs = [part for part in parts if _kind(part) == (API_VERSION, KIND)]
    if len(jobs) != 1:
        found = f"{len(jobs)} PaddleJobs" if jobs else "no PaddleJob"
        raise Invalid(f"the file has {len(parts)} documents and {found} among them", hint="give one job a file")
    beside = [part for part in parts if part is not jobs[0] and part.data is not None]
    return jobs[0], [_left_alone(part) for part in beside]


def _starts(text: str) -> list[int]:
    """The line, from 0, at which each document begins. Text that is no YAML has none: reading it says what is wrong."""
    if "\n---" not in text or len(text) > MAX_BYTES:
        return []
    try:
        events = yaml.parse(text, Loader=_Loader)
        marks = [event.start_mark for event in events if isinstance(event, yaml.DocumentStartEvent)]
        return [mark.line for mark in marks if mark is not None]
    except yaml.YAMLError:
        return []


def _alone(text: str, start: int, end: int | None) -> str:
    """The document by itself, on the lines that it has in the file."""
    lines = text.splitlines()
    return "\n" * start + "\n".join(lines[start:end])


def _kind(document: Document) -> tuple[object, object]:
    data = document.data if isinstance(document.data, dict) else {}
    return data.get("apiVersion"), data.get("kind")


def _left_alone(document: Document) -> str:
    line = document.lines.get(())
    version, kind = _kind(document)
    if kind == "PodGroup":
        return f"line {line}: the PodGroup is left alone: all tasks of a job start together or none does"
    return f"line {line}: {kind or 'a document'} ({version}) is left alone: only the PaddleJob is submitted"
