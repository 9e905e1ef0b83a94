"""What a person sees on a terminal: just enough of one for Muster's own output."""

import re

_TOKEN = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|.", re.DOTALL)


def seen_lines(written: str) -> list[str]:
    """The lines of an endless screen, without colours. Every character is as wide as any other."""
    rows: list[list[str]] = [[]]
    row = column = 0
    for token in _TOKEN.findall(written):
        if token == "\n":
            row += 1
            rows.extend([[]] * (row == len(rows)))
            rows[row] = list(rows[row])
        elif token == "\r":
            column = 0
        elif token.endswith("A") and token[0] == "\x1b":
            row -= int(token[2:-1] or 1)
        elif token == "\x1b[J":
            del rows[row][column:], rows[row + 1 :]
        elif token.endswith("m") and token[0] == "\x1b":
            continue
        else:
            assert token.isprintable() or token == "\t", f"a terminal would obey {token!r}"
            rows[row][column : column + 1] = [token]
            column += 1
    return ["".join(cells) for cells in rows]
