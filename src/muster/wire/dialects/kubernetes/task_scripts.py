"""The command of a container with what must happen at its start: variables that only the task can know, and folders.

A command that needs nothing of the kind stays as it was written. Otherwise a shell sets the variables and becomes the
command.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from muster.wire.dialects.kubernetes.references import Part, is_literal, literal, shell_word

OWN_FILES = ".muster-task-"
"""How the folder begins in which a script keeps files of its own. Agents collect nothing from it."""
_SHELL = ("/bin/sh", "-c")
_SSHD = re.compile(r"\bsshd\s")
_IN_FOREGROUND = re.compile(r"-\w*D")
_SEPARATOR = re.compile(r"[;&|]")
WAIT = [*_SHELL, "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done 2>/dev/null"]
"""What a task does that only waits until it is stopped."""
IN_CONTAINER = '[ -n "${MUSTER_IMAGE-}" ]'
"""Whether the task has a container of its own, where a script may write outside of the task's folder. A node may be a
container itself, so files such as /.dockerenv do not tell."""


def with_start(words: Sequence[Sequence[Part]], exports: Mapping[str, str], before: Sequence[str] = ()) -> list[str]:
    """The argument list. `exports` are words of a shell by variable, and `before` are lines of one."""
    lines = [*(f"export {name}={word}" for name, word in exports.items()), *before]
    if all(is_literal(word) for word in words):
        argv = [literal(word) for word in words]
        return [*_SHELL, "\n".join([*lines, 'exec "$@"']), argv[0], *argv] if lines else argv
    return [*_SHELL, "\n".join([*lines, f"exec {' '.join(shell_word(word) for word in words)}"])]


def is_ssh_server(container: Mapping[str, Any]) -> bool:
    """Whether a container does nothing in the end but wait for ssh. A job with `ssh` has a server in each task."""
    given = [container.get(key) for key in ("command", "args")]
    words = [str(word) for part in given if isinstance(part, list) for word in part]
    last = _SEPARATOR.split(" ".join(words).rstrip().removesuffix(";"))[-1]
    server = _SSHD.search(last)
    return server is not None and _IN_FOREGROUND.search(last, server.end()) is not None


def nth_host(role_variable: str, place: str) -> str:
    """A word of a shell: one entry of a list that is separated by commas."""
    return f'"$(IFS=,; set -- ${role_variable}; shift {place}; printf %s "$1")"'


def task_names(role: str, hosts_variable: str) -> str:
    """A word of a shell: the names of the tasks of a role, by which a job with `ssh` reaches them."""
    each = f'for h in ${hosts_variable}; do printf \'%s{role}-%s\' "$s" "$i"; s=,; i=$((i+1)); done'
    return f'"$(IFS=,; s=; i=0; {each})"'


def count_of(list_variable: str) -> str:
    return f'"$(IFS=,; set -- ${list_variable}; printf %s "$#")"'


def own_folder(variable: str) -> str:
    """A line that makes a folder for this task alone. The task's folder has the agent's records, so that the task of
    another account may write only to the working folder in it."""
    made = f'{variable}=$(mktemp -d "${variable}/{OWN_FILES}XXXXXX") || exit 1'
    return f'{variable}=$MUSTER_TASK_DIR; [ -w "${variable}" ] || {variable}=${variable}/work; {made}'


def written_file(folder: str, name: str, words: str) -> str:
    """A line that writes a file where the original has it, which only a container can. `words` print it."""
    refusal = f"muster: the command reads {folder}/{name}, which needs a container"
    otherwise = f"echo {shell_word([refusal])} >&2; exit 1"
    written = f"{{ mkdir -p {folder} && {words} > {folder}/{name}; }} 2>/dev/null"
    return f"if {IN_CONTAINER}; then {written} || {_not_made(f'{folder}/{name}')}; else {otherwise}; fi"


def container_folder(path: str) -> str:
    """A line that makes an empty folder of the task's own, which only a container can have at any place."""
    word = shell_word([path])
    made = f"{{ mkdir -p {word} && [ -w {word} ]; }} 2>/dev/null"
    return f"{_only_in_container(path)}; {made} || {_not_made(path)}"


def container_file(path: str, content: str) -> str:
    folder = path.rpartition("/")[0] or "/"
    written = f"mkdir -p {shell_word([folder])} && printf %s {shell_word([content])} > {shell_word([path])}"
    return f"{_only_in_container(path)}; {{ {written}; }} 2>/dev/null || {_not_made(path)}"


def _not_made(path: str) -> str:
    """A program must not run without what the job file puts beside it. In a container a task has the account of its
    owner, which may be unable to write where the image belongs to root."""
    refusal = f"muster: {path} of the job file cannot be made in the container"
    return f"{{ echo {shell_word([refusal])} >&2; exit 1; }}"


def _only_in_container(path: str) -> str:
    refusal = f"muster: {path} is a volume of the job file, which needs a container"
    return f"{IN_CONTAINER} || {{ echo {shell_word([refusal])} >&2; exit 1; }}"
