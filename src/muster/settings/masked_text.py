"""Hides passwords and keys that somebody wrote into a cluster file, although they do not belong there.

It works on lines first, so that nothing is shown of a file that is no YAML either, and hides rather too much. What a
file that can be read has under the name of a password is then hidden wherever it occurs.
"""

import re
from collections.abc import Iterator

from muster.domain.errors import Invalid
from muster.wire.cluster_problems import passwords_in
from muster.wire.documents import read_documents

MASK = "********"
_SHORTEST = 3
"""A shorter word is hidden in its own place only, because it may be a part of anything."""
_NAMES = "password|passwd|psw|pwd|passphrase|secret|token|api_?key|private_?key"
_KEY = rf"""(?<![\w-])["']?(?:{_NAMES})["']?\s*:(?=\s|$|["'])"""
_BLOCK = re.compile(rf"^(?P<indent>[\s-]*){_KEY}", re.IGNORECASE)
_FLOW = re.compile(rf"""(?P<key>{_KEY}\s*)(?P<value>"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^,}}\]]*)""", re.IGNORECASE)
_ENDS_OPEN = re.compile(rf"{_KEY}\s*$", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(\w://[^\s/:@\"']*:)[^\s/@\"']+@")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY")


def masked(text: str) -> str:
    """The text with everything hidden that looks like a secret. It has the same lines."""
    shown = "\n".join(_masked_lines(text.split("\n")))
    for password in sorted(_known(text), key=len, reverse=True):
        shown = shown.replace(password, MASK)
    return shown


def masked_line(text: str) -> int | None:
    """The first line on which something is hidden."""
    return next((number for number, line in enumerate(text.split("\n"), start=1) if MASK in line), None)


def _masked_lines(lines: list[str]) -> Iterator[str]:
    block_indent: int | None = None
    is_in_flow = is_in_key = False
    for line in lines:
        depth = len(line) - len(line.lstrip(" "))
        if block_indent is not None and line.strip() and depth <= block_indent:
            block_indent = None
        is_in_key = is_in_key or _KEY_BEGIN.search(line) is not None
        if is_in_key or is_in_flow or (block_indent is not None and line.strip()):
            yield line[:depth] + MASK
            is_in_key = is_in_key and _KEY_END.search(line) is None
            is_in_flow = is_in_flow and not re.search(r"[,}\]]", line)
        elif block := _BLOCK.match(line):
            block_indent = len(block["indent"])
            rest = line[block.end() :]
            yield f"{block[0]} {MASK}" if rest.strip() else line
        else:
            is_in_flow = _ENDS_OPEN.search(line) is not None
            hidden = _FLOW.sub(lambda found: f"{found['key']}{MASK}" if found["value"].strip() else found[0], line)
            yield _IN_ADDRESS.sub(rf"\1{MASK}@", hidden)


def _known(text: str) -> set[str]:
    """The passwords in a text that can be read. A password of several lines is hidden line by line."""
    try:
        documents = read_documents(text)
    except Invalid:
        return set()
    found = {password for document in documents for password in passwords_in(document.data)}
    parts = {part.strip() for password in found for part in password.splitlines()}
    return {part for part in parts if len(part) >= _SHORTEST}
