"""Reading the repository's own Markdown: its pages, their links, the commands they show."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]

_FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"\s+#.*$")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_PATTERNS = ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/*.md")


def pages() -> list[Path]:
    return sorted(page for pattern in _PATTERNS for page in ROOT.glob(pattern))


def relative_links(page: Path) -> list[str]:
    """Links of the text to files of the repository; what stands in code is not a link."""
    text = _INLINE_CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    return [link for link in _LINK.findall(text) if not re.match(r"[a-z][a-z0-9+.-]*:", link)]


def anchors(page: Path) -> set[str]:
    """Names of the headings as they stand in addresses: small letters, hyphens for spaces."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(text)}


def blocks(page: Path, kind: str) -> list[str]:
    """The code blocks of a page that name this language."""
    return [body for named, body in _FENCED.findall(page.read_text(encoding="utf-8")) if named == kind]


def all_blocks(page: Path) -> list[tuple[str, str]]:
    """The code blocks of a page in their order, each with its language."""
    return _FENCED.findall(page.read_text(encoding="utf-8"))


def inline_code(page: Path) -> list[str]:
    """Pieces of code within the text, without their backquotes."""
    return [code.strip("`") for code in _INLINE_CODE.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))]


def shown_commands(page: Path) -> list[str]:
    """Lines after `$` in console blocks, without their comments."""
    lines = [line for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [_COMMENT.sub("", line) for line in lines]
