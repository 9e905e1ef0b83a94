"""`file put|get|ls`, and `ls`, `cp`, `rm` and `mkdir` on paths of a datacenter."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.file_progress import file_line
from muster.cli.file_transfers import Incoming, Report, get_all, incoming, outgoing, put_all, resumable
from muster.cli.lazy_group import Group
from muster.cli.paddlecloud.pfs import is_pfs, make_home, remote
from muster.cli.paddlecloud.session import Session, open_session
from muster.cli.session import say
from muster.cli.terminal import echo
from muster.client.files import Files, FileView, RemotePath

_KEPT = "what was transferred is kept"
_AGAIN = "the same command"


@click.group(cls=Group)
def file() -> None:
    """Upload, download and list files.

    \b
    Examples:
      muster paddlecloud file put ./data /pfs/dc1/home/li@example.org/data
      muster paddlecloud file ls /pfs/dc1/home/li@example.org
    """


@file.command()
@click.argument("source", metavar="SRC", type=click.Path(exists=True))
@click.argument("target", metavar="DST")
def put(source: str, target: str) -> None:
    """Upload a file or a folder. `SRC/` uploads what is in the folder, and `SRC` the folder itself into DST.

    \b
    Example:
      muster paddlecloud file put ./data /pfs/dc1/home/li@example.org/
    """
    session = open_session()
    _put(session, source, remote(target, session))


@file.command("get")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST", type=click.Path())
def get_(source: str, target: str) -> None:
    """Download a file or a folder.

    \b
    Example:
      muster paddlecloud file get /pfs/dc1/home/li@example.org/model.bin .
    """
    session = open_session()
    _get(session.client.files, remote(source, session), Path(target))


@file.command("ls")
@click.argument("path", metavar="DST")
def file_ls(path: str) -> None:
    """List the names in a folder.

    \b
    Example:
      muster paddlecloud file ls /pfs/dc1/home/li@example.org
    """
    session = open_session()
    for entry in session.client.files.list(remote(path, session)):
        echo(entry.name)


@click.command()
@click.option("-r", "recursive", is_flag=True, help="Whole trees.")
@click.argument("paths", metavar="PFS_PATH...", nargs=-1, required=True)
def ls(recursive: bool, paths: tuple[str, ...]) -> None:
    """List files: time of the last change (UTC), `d` or `f`, size, path.

    \b
    Example:
      muster paddlecloud ls -r /pfs/dc1/home/li@example.org/data
    """
    session = open_session()
    for path in paths:
        where = remote(path, session)
        found = list(_listed(session.client.files, where, path.rstrip("/"), recursive))
        echo(f"{path} :")
        width = max((len(str(entry.size)) for entry, _ in found), default=1)
        for entry, name in found:
            kind = "d" if entry.kind == "folder" else "f"
            echo(f"{_time(entry.modified_at)} {kind} {entry.size:>{width}} {name}")


@click.command()
@click.option("-v", "verbose", is_flag=True, help="Say which file is copied.")
@click.option(
    "-chunksize", "--chunksize", type=int, help="Accepted, without effect: Muster chooses the size of pieces."
)
@click.argument("words", metavar="SRC... DST", nargs=-1, required=True)
def cp(verbose: bool, chunksize: int | None, words: tuple[str, ...]) -> None:
    """Copy files to a datacenter, or from there. An interrupted copy is resumed by the same command.

    \b
    Examples:
      muster paddlecloud cp part-0.gz part-1.gz /pfs/dc1/home/li@example.org/data/
      muster paddlecloud cp /pfs/dc1/home/li@example.org/model.bin .
    """
    *sources, target = words
    if not sources:
        raise click.UsageError("not enough arguments: name what to copy, and where to")
    for source in sources:
        if is_pfs(source) == is_pfs(target):
            raise click.UsageError(f"one of {source} and {target} must be a path /pfs/DATACENTER/..., and one not")
    session = open_session()
    for source in sources:
        if verbose:
            say(f"copying {source} to {target}")
        if is_pfs(source):
            _get(session.client.files, remote(source, session), Path(target))
        else:
            _put(session, source, remote(target, session))


@click.command()
@click.option("-r", "recursive", is_flag=True, help="Whole folders.")
@click.argument("paths", metavar="PFS_PATH...", nargs=-1, required=True)
def rm(recursive: bool, paths: tuple[str, ...]) -> None:
    """Remove files, or whole folders with -r.

    \b
    Example:
      muster paddlecloud rm -r /pfs/dc1/home/li@example.org/old
    """
    session = open_session()
    for path in paths:
        session.client.files.remove(remote(path, session), recursive=recursive)


@click.command()
@click.argument("paths", metavar="PFS_PATH...", nargs=-1, required=True)
def mkdir(paths: tuple[str, ...]) -> None:
    """Create folders, with those above them.

    \b
    Example:
      muster paddlecloud mkdir /pfs/dc1/home/li@example.org/data/2017
    """
    session = open_session()
    for path in paths:
        where = remote(path, session)
        make_home(where, session)
        session.client.files.mkdir(where, parents=True)


def _put(session: Session, source: str, to: RemotePath) -> None:
    local, files = Path(source), session.client.files
    if not local.exists():
        raise Failure(f"{source}: no such file or folder")
    make_home(to, session)
    found = files.find(to)
    if found is not None and found.kind == "folder" and not (local.is_dir() and source.endswith(("/", "\\"))):
        to = to.child(local.resolve().name)
    report = Report()
    with file_line("putting") as line, resumable(line, _KEPT, _AGAIN):
        put_all(files, list(outgoing(files, local, to, report)), line, report, force=True)
    _fail_if_incomplete(report)


def _get(files: Files, where: RemotePath, local: Path) -> None:
    facts = files.stat(where)
    if local.is_dir():
        local = local / where.name
    report = Report()
    with file_line("getting") as line, resumable(line, _KEPT, _AGAIN):
        is_folder = facts.kind == "folder"
        items = list(incoming(files, where, local, report)) if is_folder else [Incoming(where, facts, local)]
        get_all(files, items, line, report, force=True)
    _fail_if_incomplete(report)


def _fail_if_incomplete(report: Report) -> None:
    failure = report.failure()
    if failure is not None:
        raise failure


def _listed(files: Files, where: RemotePath, path: str, recursive: bool) -> Iterator[tuple[FileView, str]]:
    facts = files.stat(where)
    if facts.kind != "folder":
        yield facts, path
        return
    for entry in files.list(where):
        below = f"{path}/{entry.name}"
        yield entry, below
        if recursive and entry.kind == "folder":
            yield from _listed(files, where.child(entry.name), below, recursive)


def _time(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if text else "-"
