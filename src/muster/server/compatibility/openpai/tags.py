"""OpenPAI's tags are the labels of a job: the tag `key=value` is the label `key: value`, and a tag without `=` is a
label without a value."""

from collections.abc import Mapping

from muster.domain.errors import Invalid
from muster.server.compatibility.openpai.errors import PaiError
from muster.wire.spec_schema import MAX_LABEL, MAX_LABELS

Labels = Mapping[str, str]


def tags_of(labels: Labels) -> list[str]:
    return sorted(f"{key}={value}" if value else key for key, value in labels.items())


def with_tag(labels: Labels, tag: str) -> Labels:
    key, value = _label(tag)
    if not key or max(len(key), len(value)) > MAX_LABEL or not tag.isprintable():
        raise Invalid(f"a tag has 1 to {MAX_LABEL} printable characters")
    if labels.get(key, value) != value:
        raise Invalid(f"the job already has the tag {key}={labels[key]}", hint="remove that one first")
    if key not in labels and len(labels) >= MAX_LABELS:
        raise Invalid(f"a job has at most {MAX_LABELS} tags", hint="remove one first")
    return {**labels, key: value}


def without_tag(labels: Labels, tag: str) -> Labels:
    key, value = _label(tag)
    if labels.get(key) != value:
        raise PaiError(404, "NoTagError", f"the job has no tag {tag}")
    return {name: given for name, given in labels.items() if name != key}


def _label(tag: str) -> tuple[str, str]:
    key, _, value = tag.partition("=")
    return key, value
