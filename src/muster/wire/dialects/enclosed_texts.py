"""Finds what stands between two marks, such as `<%` and `%>`, in time that grows with the text alone.

A pattern such as `<%(.*?)%>` searches the rest of the text once for each mark that is never closed.
"""

from collections.abc import Callable


def replaced(text: str, opening: str, closing: str, replacement: Callable[[str], str]) -> str:
    """The text with `replacement` of what is inside for each pair of marks, from one to the nearest other."""
    parts: list[str] = []
    place = 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        parts += [text[place:start], replacement(text[start + len(opening) : end])]
        place = end + len(closing)
    return "".join([*parts, text[place:]])
