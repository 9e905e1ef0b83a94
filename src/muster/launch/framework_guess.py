"""Guesses the framework of a job that names none from the launcher that its command runs, where that is plain to see.

Only the launchers of a framework count. A script may use anything, so `python train.py` says nothing: a gang of such
tasks gets the variables of `plain`, which include those of PyTorch.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from muster.domain.specs import Framework, JobSpec, Role, Spread

_PROGRAMS: Mapping[str, Framework] = {
    "torchrun": Framework.TORCH,
    "fleetrun": Framework.PADDLE,
    "mpirun": Framework.MPI,
    "mpiexec": Framework.MPI,
    "mpiexec.hydra": Framework.MPI,
    "orterun": Framework.MPI,
    "prterun": Framework.MPI,
    "horovodrun": Framework.MPI,
}
_MODULES: Mapping[str, Framework] = {
    "torch.distributed.run": Framework.TORCH,
    "torch.distributed.launch": Framework.TORCH,
    "paddle.distributed.launch": Framework.PADDLE,
    "paddle.distributed.fleet.launch": Framework.PADDLE,
}
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_WITH_VALUE = ("-W", "-X")
_SEPARATORS = ";&|()\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PREFIXES = ("exec", "env", "time", "nohup")
_LONGEST = 4096
"""The characters of a command that are looked at; a launcher comes early."""


@dataclass(frozen=True, slots=True)
class Guess:
    framework: Framework
    launcher: str
    """The words of the command that give it away, such as `torchrun`."""

    @property
    def reason(self) -> str:
        return f"the command runs {self.launcher}"


def guess(roles: Sequence[Role]) -> Guess | None:
    """The framework of the launcher that the commands run. None if there is none, or if the roles run different ones.
    A single task that runs `mpirun` starts all its processes itself, so it needs no host file."""
    found = [one for role in roles for words in _commands(role) if (one := _launcher(words)) is not None]
    if len({one.framework for one in found}) != 1:
        return None
    if found[0].framework is Framework.MPI and sum(role.replicas for role in roles) == 1:
        return None
    return found[0]


def doubts(spec: JobSpec) -> tuple[str, ...]:
    """What the launcher in the command of a gang will not do as its author probably thinks."""
    found = guess(spec.roles) if spec.task_count > 1 else None
    if found is None:
        return ()
    if found.framework is Framework.MPI:
        return (
            f"command: each of the {spec.task_count} tasks runs {found.launcher}; use one task with more CPUs, or run"
            " it only where MUSTER_RANK is 0",
        )
    if found.framework is Framework.PADDLE and spec.where.spread is not Spread.APART:
        return (
            f"command: {found.launcher} takes tasks on one machine for one; call Python directly, or say"
            " `where: {spread: apart}`",
        )
    return ()


def _commands(role: Role) -> Iterator[list[str]]:
    """The simple commands of a role, each as its words."""
    if not role.is_line:
        yield list(role.command)
        return
    words: list[str] = []
    for word in _words(role.command[-1][:_LONGEST]):
        if set(word) <= set(_SEPARATORS):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _words(line: str) -> list[str]:
    """The words and separators of a line, or none if it is not plain: a quote is not closed, for example."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        return [word for word in lexer if word]
    except ValueError:
        return []


def _launcher(words: list[str]) -> Guess | None:
    while words and (words[0] in _PREFIXES or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    if not words:
        return None
    program = PurePosixPath(words[0]).name
    if program in _PROGRAMS:
        return Guess(_PROGRAMS[program], program)
    module = _module(words[1:]) if _PYTHON.fullmatch(program) else ""
    return Guess(_MODULES[module], f"{program} -m {module}") if module in _MODULES else None


def _module(words: list[str]) -> str:
    """The module that Python runs, or nothing if it runs a file."""
    while words and words[0].startswith("-"):
        if words[0] == "-m":
            return words[1] if len(words) > 1 else ""
        words = words[2 if words[0] in _WITH_VALUE else 1 :]
    return ""
