"""Regular expressions of other people, on text of other people: RE2 searches in time that grows with the text and
nothing else, whatever the expression. It has neither look-around nor references to groups."""

from collections.abc import Mapping
from typing import Any

import re2

_MEMORY = 1 << 20


class BadPattern(ValueError):
    """The message says what is wrong with the expression."""


class LinearPattern:
    def __init__(self, source: str) -> None:
        """Raises BadPattern."""
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        try:
            self._compiled: Any = re2.compile(source, options)
        except re2.error as error:
            said = error.args[0] if error.args else error
            raise BadPattern(said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)) from None

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of its groups, in their order."""
        return tuple(sorted(self._compiled.groupindex, key=self._compiled.groupindex.__getitem__))

    def search(self, line: bytes) -> Mapping[str, str] | None:
        """What the groups found; those that found nothing are left out. None if the line does not match."""
        found = self._compiled.search(line)
        if found is None:
            return None
        texts = {name: found.group(name) for name in self.groups}
        return {name: text.decode("utf-8", "replace") for name, text in texts.items() if text is not None}
