"""What is said of fields that are not honoured, and of tasks that are left out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """`where` is the file, and the entry and field in it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"
