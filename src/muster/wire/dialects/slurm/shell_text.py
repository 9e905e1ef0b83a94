"""Tells the commands of a shell script from the text in it: quotes, comments, here-documents and functions.

What is not asked for is blanked, so that places and lines stay those of the script.
"""

import re
from dataclasses import dataclass

_SHELL = re.compile(r"#!\s*(?:\S*/env\s+(?:-\S+\s+)*)?(?:\S*/)?(?:ba|da|k|z|a)?sh\b")
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_PLAIN = re.compile(r"[^\n\\\"'$`#()<]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_SINGLE = re.compile(r"'[^']*'")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_COMMENT = re.compile(r"#[^\n]*")
_FUNCTION = re.compile(
    r"(?m)(?:^|[;&|{][ \t]*|[ \t])(?:function[ \t]+[\w:.-]+(?:[ \t]*\([ \t]*\))?|[\w:.-]+[ \t]*\([ \t]*\))\s*\{"
)
_POSITIONAL = re.compile(
    r"(?<!\$)\$(?:[1-9@*#]|\{[!#]?(?:[1-9]\d*|[@*])(?!\w)|\{#\})"
    r"|\bgetopts\b|\bfor[ \t]+\w+[ \t]*(?:;\s*|\n\s*|[ \t])do\b"
)
_SET = re.compile(r"(?m)(?:^|[;&|({])[ \t]*set[ \t]+(?:-[a-z]+[ \t]+)*(?:--|[^-+\s])[^\n]*")


@dataclass(frozen=True, slots=True)
class ShellText:
    commands: str
    """The text without comments, here-documents and what stands in quotes, but with what `$( )` runs there."""
    expanded: str
    """The text without what the shell does not expand. Text in double quotes is there."""


def is_for_shell(script: str) -> bool:
    return _SHELL.match(script) is not None


def positional(text: ShellText) -> int | None:
    """The place at which the script reads the first of its own arguments, if it does: not those of its functions, and
    not after it has set them itself."""
    found = _POSITIONAL.search(_without_functions(text, text.expanded))
    own = _SET.search(_without_functions(text, text.commands))
    return None if found is None or (own is not None and found.start() > own.end()) else found.start()


def _without_functions(text: ShellText, shown: str) -> str:
    kept: list[str] = []
    done = 0
    for head in _FUNCTION.finditer(text.commands):
        if head.start() < done:
            continue  # a function in a function
        kept.append(shown[done : head.end()])
        depth, done = 1, head.end()
        while depth and done < len(text.commands):
            depth += {"{": 1, "}": -1}.get(text.commands[done], 0)
            done += 1
        kept.append(_blank(shown[head.end() : done]))
    return "".join([*kept, shown[done:]])


def shell_text(script: str) -> ShellText | None:
    """Returns None if the quotes and brackets of the script do not match, so that nothing is certain."""
    reader = _Reader(script)
    return reader.read()


class _Reader:
    """Goes through the text once. The stack has what is open: quotes, and the brackets of commands."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._commands: list[str] = []
        self._expanded: list[str] = []
        self._stack: list[str] = []
        self._documents: list[tuple[str, bool]] = []
        """The ends of the here-documents that begin after this line, and whether tabs before them are left out."""
        self._place = 0
        self._closed = self._line_end = -1
        """Where the next `))` and the end of the line are, as far as they have been looked for."""

    def read(self) -> ShellText | None:
        while self._place < len(self._script):
            if not (self._within_quotes() if self._stack[-1:] == ['"'] else self._code()):
                return None
        if self._stack or self._documents:
            return None
        return ShellText("".join(self._commands), "".join(self._expanded))

    def _take(self, count: int, *, is_command: bool = True, is_expanded: bool = True) -> bool:
        part = self._script[self._place : self._place + count]
        self._commands.append(part if is_command else _blank(part))
        self._expanded.append(part if is_expanded else _blank(part))
        self._place += len(part)
        return True

    def _text(self, found: "re.Match[str]") -> bool:
        return self._take(found.end() - found.start(), is_command=False, is_expanded=False)

    def _opens(self) -> bool:
        """Commands in `$( )` and backquotes."""
        here = self._script[self._place]
        if here == "`":
            if self._stack[-1:] == ["`"]:
                self._stack.pop()
            else:
                self._stack.append("`")
            return self._take(1)
        if self._script.startswith("$(", self._place):
            if end := self._end_of_arithmetic(self._place + 1):
                return self._take(end - self._place)
            self._stack.append(")")
            return self._take(2)
        return False

    def _end_of_arithmetic(self, place: int) -> int:
        """Where `(( ))` ends that begins here; 0 if it does not on this line. Every part of it is searched once."""
        script = self._script
        if not script.startswith("((", place):
            return 0
        if self._closed < place + 2:
            found = script.find("))", place + 2)
            self._closed = len(script) if found < 0 else found
        if self._line_end < place:
            found = script.find("\n", place)
            self._line_end = len(script) if found < 0 else found
        return self._closed + 2 if self._closed < self._line_end else 0

    def _within_quotes(self) -> bool:
        here = self._script[self._place]
        if here == '"':
            self._stack.pop()
            return self._take(1)
        if here == "\\":
            return self._take(2, is_command=False, is_expanded=False)
        if plain := _PLAIN_IN_QUOTES.match(self._script, self._place):
            return self._take(plain.end() - self._place, is_command=False)
        return self._opens() or self._take(1, is_command=False)

    def _code(self) -> bool:
        script, place = self._script, self._place
        here = script[place]
        if plain := _PLAIN.match(script, place):
            return self._take(plain.end() - place)
        before = script[place - 1] if place else "\n"
        if here == "\n":
            self._take(1)
            return self._here_documents()
        if here == "\\":
            return self._take(2, is_command=script[place + 1 : place + 2] == "\n", is_expanded=False)
        if here == '"':
            self._stack.append('"')
            return self._take(1)
        if here == "'":
            found = _SINGLE.match(script, place)
            return found is not None and self._text(found)
        if found := _ANSI.match(script, place) if here == "$" else None:
            return self._text(found)
        if here == "#" and before in " \t\n;&|()" and (found := _COMMENT.match(script, place)):
            return self._text(found)
        return self._opens() or self._brackets(here) or self._redirection() or self._take(1)

    def _brackets(self, here: str) -> bool:
        if here == "(":
            if end := self._end_of_arithmetic(self._place):
                return self._take(end - self._place)
            if self._stack[-1:] == [")"]:
                self._stack.append(")")
                return self._take(1)
        if here == ")" and self._stack[-1:] == [")"]:
            self._stack.pop()
            return self._take(1)
        return False

    def _redirection(self) -> bool:
        if self._script.startswith("<<<", self._place):
            return self._take(3)
        found = _HERE.match(self._script, self._place)
        if found is None:
            return False
        self._documents.append((found[2] or found[3] or found[4], bool(found[1])))
        return self._take(found.end() - self._place)

    def _here_documents(self) -> bool:
        for end, is_indented in self._documents:
            line = ""
            while self._place < len(self._script):
                stop = self._script.find("\n", self._place)
                stop = len(self._script) if stop < 0 else stop
                line = self._script[self._place : stop]
                self._take(stop + 1 - self._place, is_command=False, is_expanded=False)
                if (line.lstrip("\t") if is_indented else line) == end:
                    break
            else:
                return False
        self._documents.clear()
        return True


def _blank(part: str) -> str:
    return re.sub(r"[^\n]", " ", part)
