"""English words that a Chinese page says by itself."""

import re

from tests.portal.reading import Reader

_CHROME = "h1, h2, h3, label, button, th, legend, caption, dt, nav a, [role=tab], [role=columnheader], [aria-label]"
"""What the page says by itself; names of jobs, people and nodes stand elsewhere."""
_TEXTS = """
(selector) =>
  [...document.querySelectorAll(selector)]
    .filter((each) => !each.closest("tbody, [data-alert], code, pre"))
    .flatMap((each) => [
      [...each.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join(" "),
      each.getAttribute("aria-label") ?? "",
    ])
"""
_ENGLISH = re.compile(
    r"\b(all|and|clear|close|cluster|clusters|created|filter|file|from|jobs?|mine|name|nodes?|none|of|open|owner|queue|"
    r"reason|remove|running|search|state|submit|the|to|user|users|waiting|with)\b",
    re.IGNORECASE,
)
_KEPT = re.compile(r"[\w]+(?:[-._][\w]+)+|\S*=\S*", re.ASCII)
"""Names of jobs and files, and examples, are the same in all languages."""


def english_words(window: Reader) -> set[str]:
    """The texts with such words."""
    texts = window.page.evaluate(_TEXTS, _CHROME)
    return {str(text) for text in texts if _ENGLISH.search(_KEPT.sub("", text))}
