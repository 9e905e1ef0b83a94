"""`muster fs`: the files of a cluster."""

import hashlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from muster.cli.ages import ago
from muster.cli.failures import Failure
from muster.cli.file_moving import Incoming, Outgoing, get_all, incoming, outgoing, put_all, resumable
from muster.cli.file_progress import file_line
from muster.cli.options import output_option
from muster.cli.output import print_document, print_list
from muster.cli.remote_paths import RemotePathType, complete_either
from muster.cli.session import connect, say, say_warning
from muster.cli.tables import Column, shown
from muster.client.downloading import Arriving
from muster.client.errors import MusterError
from muster.client.file_transfers import source_of
from muster.client.files import Files, FileView, FolderView, Progress, RemotePath
from muster.lib.quantities import about_bytes, parse_duration

REMOTE = RemotePathType()


@click.group()
def command() -> None:
    """Look at the files of a cluster, bring files there and back.

    A path is CLUSTER:folder/rest; the folders are those that the cluster shows. Where each node has files of its own,
    name the node: CLUSTER/NODE:folder/rest. Nothing is overwritten without --force. What was interrupted goes on where
    it was when the same command is given again.

    \b
    Examples:
      muster fs ls lab:
      muster fs put -r ./criteo lab:data/
      muster fs get lab:data/model.bin .
      muster fs du lab:data
    """


@command.command()
@click.argument("path", type=REMOTE)
@click.option("-l", "long", is_flag=True, help="With permissions, size and time.")
@click.option("-a", "--all", "all_names", is_flag=True, help="Also names that begin with a dot.")
@output_option("table", "json", "yaml", "name")
def ls(path: RemotePath, long: bool, all_names: bool, output: str) -> None:
    """List a folder, or the folders of a cluster.

    \b
    Examples:
      muster fs ls lab:
      muster fs ls -l lab:data/criteo
      muster fs ls lab/gpu1:scratch -o json
    """
    files = connect().files
    if not path.path:
        print_list(files.folders(path.cluster), _FOLDER_COLUMNS, output)
        return
    entries = [entry for entry in _entries(files, path) if all_names or not entry.name.startswith(".")]
    if long or output != "table":
        print_list(entries, _file_columns(), output)
        return
    for entry in entries:
        click.echo(shown(entry.name) + ("/" if entry.kind == "folder" else ""))


@command.command()
@click.argument(
    "sources",
    metavar="LOCAL...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    shell_complete=complete_either,
)
@click.argument("target", metavar="PATH", type=REMOTE)
@click.option("-r", "--recursive", is_flag=True, help="Whole folders.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
def put(sources: tuple[Path, ...], target: RemotePath, recursive: bool, force: bool) -> None:
    """Bring files from here to a cluster. What arrived is checked by sha256 before it gets its name.

    \b
    Examples:
      muster fs put train.csv lab:data/train.csv
      muster fs put a.bin b.bin lab:data/models/
      muster fs put -r ./criteo lab:data/
    """
    for source in sources:
        if source.is_dir() and not recursive:
            raise click.UsageError(f"{source} is a folder: give -r")
    files = connect().files
    with file_line("putting") as line, resumable(line, "what has arrived is kept on the cluster for a day"):
        into = _is_folder(files, target)
        if len(sources) > 1 and not into:
            raise Failure(f"{target} is no folder", hint=f"make it first: muster fs mkdir -p {target}")
        items: list[Outgoing] = []
        for source in sources:
            to = target.child(source.resolve().name) if into else target
            if source.is_dir():
                items += outgoing(files, source, to)
            else:
                items.append(Outgoing(source, to, source.stat().st_size))
        if items:
            put_all(files, items, line, force=force)
    say(f"put {_count(items)}, {about_bytes(sum(item.size for item in items))}")


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("local", metavar="LOCAL", type=click.Path(path_type=Path))
@click.option("-r", "--recursive", is_flag=True, help="A whole folder.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
def get(path: RemotePath, local: Path, recursive: bool, force: bool) -> None:
    """Bring files from a cluster to here. What is not whole yet has another name.

    \b
    Examples:
      muster fs get lab:data/model.bin .
      muster fs get -r lab:data/criteo ./criteo
    """
    files = connect().files
    facts = files.stat(path)
    if facts.kind == "folder" and not recursive:
        raise click.UsageError(f"{path} is a folder: give -r")
    target = local / path.name if local.is_dir() else local
    with file_line("getting") as line, resumable(line, "what has come is kept beside its target"):
        items = list(incoming(files, path, target)) if facts.kind == "folder" else [Incoming(path, facts, target)]
        if items:
            get_all(files, items, line, force=force)
    say(f"got {_count(items)}, {about_bytes(sum(item.facts.size for item in items))}")


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("target", metavar="TARGET", type=REMOTE)
@click.option("-r", "--recursive", is_flag=True, help="A whole folder.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
def cp(path: RemotePath, target: RemotePath, recursive: bool, force: bool) -> None:
    """Copy within a cluster, also from one of its folders to another. Nothing passes through this machine.

    \b
    Examples:
      muster fs cp lab:data/a.csv lab:data/b.csv
      muster fs cp -r lab:data/criteo lab:scratch/
    """
    files = connect().files
    with file_line("copying") as line:
        done = files.copy(path, _into(files, target, path.name), recursive=recursive, overwrite=force, tell=line.heard)
    say(f"copied {_told(done)}")


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("target", metavar="TARGET", type=REMOTE)
@click.option("-f", "--force", is_flag=True, help="Replace a file that is there.")
def mv(path: RemotePath, target: RemotePath, force: bool) -> None:
    """Move or rename within a cluster.

    \b
    Examples:
      muster fs mv lab:data/old.csv lab:data/new.csv
      muster fs mv lab:scratch/run7 lab:data/results/
    """
    files = connect().files
    to = _into(files, target, path.name)
    with file_line("moving") as line:
        files.move(path, to, overwrite=force, tell=line.heard)
    say(f"moved {path} to {to}")


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("-r", "--recursive", is_flag=True, help="Whole folders.")
def rm(paths: tuple[RemotePath, ...], recursive: bool) -> None:
    """Remove files, or whole folders with -r. Links are removed, never what they lead to.

    \b
    Examples:
      muster fs rm lab:data/old.csv
      muster fs rm -r lab:scratch/run7
    """
    files = connect().files
    with file_line("removing") as line:
        for path in paths:
            done = files.remove(path, recursive=recursive, tell=line.heard)
            line.clear()
            say(f"removed {path} ({_told(done)})" if recursive else f"removed {path}")


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("-p", "--parents", is_flag=True, help="Also the folders above; those that are there are no error.")
def mkdir(paths: tuple[RemotePath, ...], parents: bool) -> None:
    """Make folders.

    \b
    Examples:
      muster fs mkdir lab:data/results
      muster fs mkdir -p lab:data/2026/07
    """
    files = connect().files
    for path in paths:
        files.mkdir(path, parents=parents)


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
def cat(paths: tuple[RemotePath, ...]) -> None:
    """Print files.

    \b
    Examples:
      muster fs cat lab:data/metrics.json
      muster fs cat lab:data/part-1 lab:data/part-2 | gzip > all.gz
    """
    files = connect().files
    for path in paths:
        _print_file(files, path)


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("--within", metavar="DURATION", default="60s", show_default=True, help="Stop counting after this long.")
@output_option("table", "json", "yaml")
def du(paths: tuple[RemotePath, ...], within: str, output: str) -> None:
    """Say how much there is: bytes, files and folders.

    \b
    Examples:
      muster fs du lab:data
      muster fs du lab:data/criteo lab:scratch -o json
    """
    files = connect().files
    try:
        within_s = parse_duration(within)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--within") from None
    items: list[dict[str, Any]] = []
    with file_line("counting") as line:
        for path in paths:
            found = files.usage(path, within_s=within_s, tell=line.heard)
            line.clear()
            items.append(_usage(path, found))
            if output == "table":
                least = "" if found.complete else "at least "
                click.echo(f"{least}{about_bytes(found.bytes)}\t{found.files} files\t{found.folders} folders\t{path}")
            _warn_of_more(path, found)
    if output != "table":
        print_document({"items": items}, output)
    if not all(item["complete"] for item in items):
        say_warning(f"not counted to the end within {within}; --within gives it longer")


_FOLDER_COLUMNS: list[Column[FolderView]] = [
    Column("NAME", lambda folder: folder.name),
    Column("SHARED", lambda folder: "yes" if folder.shared else "each node has its own"),
    Column("WRITABLE", lambda folder: "no" if folder.read_only else "yes"),
]


def _file_columns() -> list[Column[FileView]]:
    now = datetime.now(UTC)
    return [
        Column("KIND", lambda entry: entry.kind),
        Column("MODE", lambda entry: entry.mode),
        Column("SIZE", lambda entry: entry.size, right=True),
        Column("CHANGED", lambda entry: ago(datetime.fromisoformat(entry.modified_at), now)),
        Column("NAME", lambda entry: f"{entry.name} -> {entry.target}" if entry.target else entry.name),
    ]


def _entries(files: Files, path: RemotePath) -> list[FileView]:
    try:
        return list(files.list(path))
    except MusterError as error:
        if error.code != "wrong-kind":
            raise
        return [files.stat(path)]


def _into(files: Files, target: RemotePath, name: str) -> RemotePath:
    """As `cp` does: into the folder that is there, or under the name that is given."""
    return target.child(name) if _is_folder(files, target) else target


def _is_folder(files: Files, target: RemotePath) -> bool:
    if not target.path:
        raise click.UsageError(f"{target} names no folder; see `muster fs ls {target}`")
    if target.path.endswith("/") or "/" not in target.path:
        return True
    found = files.find(target)
    return found is not None and found.kind == "folder"


def _print_file(files: Files, path: RemotePath) -> None:
    arriving = Arriving(source_of(files, path, files.stat(path)))
    digest = hashlib.sha256()
    out = sys.stdout.buffer
    for data in arriving.pieces():
        digest.update(data)
        out.write(data)
    out.flush()
    if arriving.expected and arriving.expected != digest.hexdigest():
        raise Failure(f"{path} did not arrive as it is on the node", hint="print it again")


def _warn_of_more(path: RemotePath, found: Progress) -> None:
    if found.unfinished:
        say_warning(f"{path}: besides, {about_bytes(found.unfinished)} of uploads that are not finished")
    if found.skipped:
        say_warning(f"{path}: {found.skipped} folders are not counted: they may not be read, or are nested too deep")


def _usage(path: RemotePath, found: Progress) -> dict[str, Any]:
    return {
        "path": str(path),
        "bytes": found.bytes,
        "files": found.files,
        "folders": found.folders,
        "skipped": found.skipped,
        "unfinished": found.unfinished,
        "complete": found.complete,
    }


def _count(items: Any) -> str:
    return "1 file" if len(items) == 1 else f"{len(items)} files"


def _told(done: Progress) -> str:
    left_out = f", {done.skipped} left out" if done.skipped else ""
    return f"{'1 file' if done.files == 1 else f'{done.files} files'}, {about_bytes(done.bytes)}{left_out}"
