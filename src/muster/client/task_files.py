"""Copies files out of and into a running task, by a command that runs there: with the task's rights, and as it sees its
files. The task needs a shell, and tar or Python.
"""

import io
import posixpath
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from muster.client.errors import BAD_INPUT, NOT_FOUND, MusterError
from muster.client.node_exec import CommandPiece
from muster.client.received_tree import Moved, Warn, put, received_beside
from muster.client.task_commands import TaskCommand, TaskCommandResult

_MOST_ERROR_BYTES = 16 << 10
_CHANGED = "file changed as we read it"
_GIVE_UP_S = 10.0

_FETCH = r"""
[ -e "$1" ] || exit 66
if [ -d "$1" ]; then
  cd -- "$1" 2>/dev/null || exit 77
  set -- . ""
elif [ -f "$1" ]; then
  [ -r "$1" ] || exit 77
  name=${1##*/}
  case $1 in */*) cd -- "${1%/*}/" || exit 77 ;; esac
  set -- "./$name" h
else
  exit 65
fi
command -v tar >/dev/null 2>&1 && exec tar "-c${2}f" - "$1"
for python in python3 python; do
  command -v "$python" >/dev/null 2>&1 && exec "$python" -c '
import sys, tarfile
with tarfile.open(mode="w|", fileobj=sys.stdout.buffer, format=tarfile.GNU_FORMAT, dereference=bool(sys.argv[2])) as t:
    t.add(sys.argv[1])
' "$1" "$2"
done
exit 69
"""
"""Argument: the path. The archive goes to standard output."""

_STORE = r"""
target=$1
if [ -d "$1" ]; then
  target=${1%/}/$2
else
  case $1 in */) exit 72 ;; esac
fi
case $target in */*) folder=${target%/*}/ ;; *) folder=./ ;; esac
[ -d "$folder" ] || exit 72
temp=$folder$3
mkdir -- "$temp" || exit 77
trap 'rm -rf -- "$temp"' EXIT
trap 'exit 1' HUP INT TERM
if command -v tar >/dev/null 2>&1; then
  tar -xf - -C "$temp" || exit 1
else
  for python in python3 python none; do
    command -v "$python" >/dev/null 2>&1 && break
  done
  [ "$python" != none ] || exit 69
  "$python" -c '
import sys, tarfile
with tarfile.open(mode="r|", fileobj=sys.stdin.buffer) as t:
    t.extractall(sys.argv[1])
' "$temp" || exit 1
fi
[ -e "$temp/complete" ] || exit 1
if [ ! -d "$temp/content" ]; then
  [ ! -d "$target" ] || exit 73
  mv -f -- "$temp/content" "$target"
elif [ -d "$target" ]; then
  case $target in /*) ;; *) target=$PWD/$target ;; esac
  cd -- "$temp/content" || exit 1
  find . -type d -exec sh -c 'for one do mkdir -p -- "$0/$one" || exit 1; done' "$target" {} + &&
    find . ! -type d -exec sh -c 'for one do mv -f -- "$one" "$0/$one" || exit 1; done' "$target" {} +
  code=$?
  cd - >/dev/null || exit 1
  exit "$code"
else
  [ ! -e "$target" ] || exit 73
  mv -- "$temp/content" "$target"
fi
"""
"""Arguments: the path, the name that it gets in a folder that is there, and that of a temporary folder. The archive
comes on standard input. It ends with an entry by which it is known that nothing is missing."""


class Running(Protocol):
    """Runs a command in the task."""

    def __call__(self, command: list[str]) -> TaskCommand: ...


def fetch(run: Running, path: str, here: Path, moved: Moved, warn: Warn) -> Path:
    """Copies a file or a folder of the task. Returns where it is now: `here`, or in there if that is a folder."""
    target = here / (_name(path) or "files") if here.is_dir() else here
    if not target.parent.is_dir():
        raise MusterError(f"there is no folder {target.parent}", code=BAD_INPUT)
    with received_beside(target, moved, warn) as tree, _fetching(run, path, warn) as stream:
        tree.unpack(stream)
        stream.finish()
        put(tree.content, target)
    return target


def fetch_content(run: Running, path: str, out: IO[bytes], moved: Moved) -> None:
    """Copies the content of a file to a stream."""
    with _fetching(run, path, lambda text: None) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            member = archive.next()
            content = None if member is None or not member.isreg() else archive.extractfile(member)
            if content is None:
                raise MusterError(f"{path} is a folder", code=BAD_INPUT, hint="copy it to a folder here")
            while piece := content.read(1 << 20):
                out.write(piece)
                moved(len(piece))
        stream.finish()
        out.flush()


def store(run: Running, here: Path, path: str, moved: Moved) -> None:
    """Copies a file or a folder into the task: to the path, or into it if that is a folder."""
    here.stat()  # which says what is wrong with it
    temporary = f".muster-cp-{secrets.token_hex(8)}"
    name = here.name or here.resolve().name
    with run(["/bin/sh", "-c", _STORE, "muster-cp", path, name, temporary]) as command:
        sink = _Sink(command, moved)
        try:
            with tarfile.open(fileobj=sink, mode="w|", format=tarfile.GNU_FORMAT) as archive:  # type: ignore[call-overload]
                archive.add(here.resolve() if here.is_symlink() else here, "content", filter=_plain)
                archive.addfile(tarfile.TarInfo("complete"))
        except _Ended:
            pass  # it has said why
        except BaseException:
            sink.abandon()
            raise
        result, said = sink.finish()
    if result.exit_code:
        raise _problem(result, said, path)


class _Fetched(io.RawIOBase):
    """What the command in the task prints, as a file."""

    def __init__(self, command: TaskCommand, path: str, warn: Warn) -> None:
        self._pieces = iter(command)
        self._path = path
        self._warn = warn
        self._held = b""
        self._errors = b""
        self._result: TaskCommandResult | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._held and self._result is None:
            self._take()
        if self._result is not None and self._result.exit_code and not self._held:
            self.finish()
        data, self._held = self._held[:size], self._held[size:]
        return data

    def finish(self) -> None:
        """Raises MusterError if the command has not succeeded."""
        while self._result is None:
            self._take()
            self._held = b""
        said = self._errors.decode(errors="replace").strip()
        only_changed = bool(said) and all(_CHANGED in line for line in said.splitlines())
        if self._result.exit_code == 1 and only_changed:
            self._warn(said)
        elif self._result.exit_code:
            raise _problem(self._result, said, self._path)

    def _take(self) -> None:
        told = next(self._pieces)
        if isinstance(told, TaskCommandResult):
            self._result = told
        elif told.stream == "stdout":
            self._held += told.data
        elif len(self._errors) < _MOST_ERROR_BYTES:
            self._errors += told.data


@contextmanager
def _fetching(run: Running, path: str, warn: Warn) -> Iterator[_Fetched]:
    with run(["/bin/sh", "-c", _FETCH, "muster-cp", path]) as command:
        command.end_input()
        yield _Fetched(command, path, warn)


class _Sink:
    """A file whose content is the input of the command. No more is kept than the connection takes."""

    def __init__(self, command: TaskCommand, moved: Moved) -> None:
        self._command = command
        self._moved = moved
        self._said = b""
        self._result: TaskCommandResult | None = None

    def write(self, data: bytes) -> int:
        while not self._command.has_room and self._result is None:
            self._hear(self._command.wait())
        if self._result is None:
            self._command.send(data)
            self._hear(self._command.receive())
        if self._result is not None:
            raise _Ended
        self._moved(len(data))
        return len(data)

    def finish(self) -> tuple[TaskCommandResult, str]:
        if self._result is None:
            self._command.end_input()
        return self._ended()

    def abandon(self) -> None:
        """Lets the command see a cut off archive, so that it removes what it has."""
        try:
            self._command.end_input()
            self._ended(_GIVE_UP_S)
        except MusterError:
            pass  # it is killed

    def _ended(self, timeout_s: float | None = None) -> tuple[TaskCommandResult, str]:
        while self._result is None:
            told = self._command.wait(timeout_s=timeout_s)
            if not told and timeout_s is not None:
                break
            self._hear(told)
        result = self._result or TaskCommandResult(1)
        return result, self._said.decode(errors="replace").strip()

    def _hear(self, told: Sequence[CommandPiece | TaskCommandResult]) -> None:
        for one in told:
            if isinstance(one, TaskCommandResult):
                self._result = one
            elif len(self._said) < _MOST_ERROR_BYTES:
                self._said += one.data


class _Ended(Exception):
    """The command takes no more, and has said why."""


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Files belong to whoever unpacks them. What is neither a file, nor a folder, nor a link is left out."""
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _name(path: str) -> str:
    name = posixpath.basename(posixpath.normpath(path))
    return "" if name in (".", "..") else name


def _problem(result: TaskCommandResult, said: str, path: str) -> MusterError:
    match result.exit_code:
        case 66:
            return MusterError(f"the task has no {path}", code=NOT_FOUND)
        case 77:
            return MusterError(f"the task may not do this with {path}{': ' if said else ''}{said}", code=BAD_INPUT)
        case 65:
            return MusterError(f"{path} is neither a file nor a folder", code=BAD_INPUT)
        case 72:
            return MusterError(f"the task has no folder for {path}", code=NOT_FOUND, hint="make it with `muster exec`")
        case 73:
            return MusterError(f"a folder and a file would have the same name at {path}", code=BAD_INPUT)
        case 69:
            return MusterError(
                "the task has neither tar nor Python, one of which copies files",
                code=BAD_INPUT,
                hint="use another image",
            )
        case 126 | 127:
            return MusterError(
                "the task has no shell (/bin/sh), which copies files", code=BAD_INPUT, hint="use another image"
            )
    if result.task_ended:
        return MusterError("the task has ended before all was copied", code=NOT_FOUND)
    return MusterError(f"{path} was not copied: {said or f'exit code {result.exit_code}'}", code=BAD_INPUT)
