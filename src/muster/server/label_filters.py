"""Filters by labels, as addresses have them."""

from collections.abc import Sequence

from muster.domain.errors import Invalid


def label_filters(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Raises Invalid."""
    return tuple(map(_label, texts))


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Invalid(f"a label filter is key=value, not {text!r}")
    return key, value
