"""Amounts with their nouns."""


def counted(count: float, noun: str) -> str:
    """`1 file`, `2 files`, `1.5 minutes`; for nouns with a regular plural."""
    return f"{count:g} {noun}" if count == 1 else f"{count:.12g} {noun}s"
