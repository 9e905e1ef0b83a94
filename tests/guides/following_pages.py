"""Follows a page: does step after step what it says, and notes where the outcome differs."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.guides.comparing import matches
from tests.guides.machine import Answer, Machine, machine_for
from tests.guides.steps import Command, File, Setup, Step, Until
from tests.parts.server import PATIENCE, polls

__all__ = ["Difference", "follow"]

_LOOKS = re.compile(
    r"^muster (get|explain|describe|logs|events|outputs|top|vc (list|describe)|node (list|describe)|fs ls)\b"
)
"""Commands that only look: what they show may come a moment later, as it may for a reader."""
_LATER_S = 10.0
_START_S = 60.0
_BACKGROUND = re.compile(r"&\s*(#.*)?$")


@dataclass(frozen=True)
class Difference:
    command: Command
    answer: Answer

    @property
    def can_be_written(self) -> bool:
        """Whether the page can show what was printed instead."""
        return bool(self.command.expected)

    def told(self, page: Path) -> str:
        shown = "\n".join(f"  {line}" for line in self.command.expected) or "  nothing, and an exit code of 0"
        printed = "\n".join(f"  {line}" for line in self.answer.lines)
        where = f"{page}:{self.command.line + 1}: {self.command.text.rstrip()}"
        return f"{where}\nshown:\n{shown}\nprinted, with exit code {self.answer.status}:\n{printed}"


def follow(steps: Iterable[Step]) -> list[Difference]:
    todo = list(steps)
    setup = [word for step in todo if isinstance(step, Setup) for word in step.words]
    differences = []
    with machine_for(setup) as machine:
        for step in todo:
            match step:
                case File():
                    machine.write(step.path, step.content)
                case Until():
                    _wait_until(machine, step)
                case Command():
                    answer = _typed(machine, step)
                    if not _is_right(step, answer):
                        differences.append(Difference(step, answer))
                        if step.hidden:
                            break  # what follows would only repeat it
    return differences


def _typed(machine: Machine, command: Command) -> Answer:
    text = command.text
    if command.language == "python":
        machine.write("/run/guide-step.py", text)
        text = "python /run/guide-step.py"
    answer = machine.run(text)
    if command.expected and _BACKGROUND.search(text):
        return _background(machine, command, answer)
    if command.expected and _LOOKS.match(text):
        for _ in polls(_LATER_S / PATIENCE, every_s=0.3):
            if _is_right(command, answer):
                break
            answer = machine.run(text)
    return answer


def _background(machine: Machine, command: Command, answer: Answer) -> Answer:
    deadline = time.monotonic() + PATIENCE * _START_S
    while not _is_right(command, answer) and time.monotonic() < deadline:
        answer = replace(answer, lines=(*answer.lines, *machine.overhear(1.0)))
    return answer


def _is_right(command: Command, answer: Answer) -> bool:
    if command.expected:
        return matches(command.expected, answer.lines)
    return answer.status == 0


def _wait_until(machine: Machine, step: Until) -> None:
    answer = Answer((), 1)
    for _ in polls(60, every_s=0.3):
        answer = machine.run(step.text)
        if answer.status == 0:
            return
    raise AssertionError(f"line {step.line + 1}: `{step.text}` has not come true; it printed {answer.lines}")
