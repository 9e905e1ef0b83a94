"""One line of the table: a question, what was measured, and the bar."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    question: str
    figure: str
    bar: str
    is_met: bool
    note: str = ""

    def __str__(self) -> str:
        line = f"{self.question:<58} {self.figure:>14}   {self.bar:<18} {'met' if self.is_met else 'MISSED'}"
        return f"{line}\n    {self.note}" if self.note else line
