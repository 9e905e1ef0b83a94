"""The data that a run was given, as `mlflow.log_input` says it. Each is a tag of its run, `dataset.NAME.DIGEST`, so
that it is compared, exported and searched as tags are."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from muster.domain.job_notes import LONGEST_KEY, LONGEST_TAG
from muster.server.compatibility.mlflow import bodies

_PREFIX = "dataset."
_CONTEXT = "mlflow.data.context"


def tag_of(given: bodies.DatasetInput) -> bodies.Tag:
    """A source that is too long for a tag is left out: it is a text such as the rows themselves."""
    data = given.dataset
    context = next((tag.value for tag in given.tags if tag.key == _CONTEXT), "")
    said = {"name": data.name, "digest": data.digest, "context": context, "source_type": data.source_type}
    digest = f".{data.digest}" if data.digest else ""
    key = f"{_PREFIX}{data.name}"[: LONGEST_KEY - len(digest)] + digest
    value = json.dumps({**said, "source": data.source}, ensure_ascii=False)
    return bodies.Tag(key=key, value=value if len(value) <= LONGEST_TAG else json.dumps(said, ensure_ascii=False))


def inputs_in(tags: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The data in the tags of a run. A tag of such a name that its program has written itself is none."""
    for key, value in tags.items():
        if key.startswith(_PREFIX) and (said := _said(value)) is not None:
            context = said.pop("context", "")
            noted = [{"key": _CONTEXT, "value": context}] if context else []
            yield {"tags": noted, "dataset": said}


def _said(value: str) -> dict[str, str] | None:
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(found, dict) and found.get("name") and all(isinstance(part, str) for part in found.values())
    return found if is_one else None
