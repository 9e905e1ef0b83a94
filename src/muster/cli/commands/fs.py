"""`muster fs`, which works with files on clusters."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from muster.cli.failures import Failure
from muster.cli.file_progress import file_line
from muster.cli.file_transfers import Incoming, Outgoing, Report, get_all, incoming, outgoing, put_all, resumable
from muster.cli.lazy_group import Group
from muster.cli.remote_paths import RemotePathType, complete_either
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import output_option
from muster.cli.tables.ages import ago
from muster.cli.tables.output import print_document, print_list
from muster.cli.tables.text_tables import Column, shown
from muster.cli.terminal import echo
from muster.client.downloading import Arriving
from muster.client.errors import UNREACHABLE, MusterError
from muster.client.file_transfers import source_of
from muster.client.files import Files, FileView, FolderView, Progress, RemotePath
from muster.lib.quantities import about_bytes, parse_duration

REMOTE = RemotePathType()
CLUSTER_OR_REMOTE = RemotePathType(is_cluster_enough=True)
_itself = click.option(
    "-T",
    "--itself",
    is_flag=True,
    help="Use TARGET itself as the new folder or file, even if it is a folder that exists.",
)


@click.group(cls=Group)
def command() -> None:
    """List, copy, move and remove files on a cluster.

    A path is CLUSTER:folder/rest, where the folder is one of the cluster's folders. If each node has its own files in
    that folder, name the node: CLUSTER/NODE:folder/rest. Nothing is overwritten without --force. To resume an
    interrupted transfer, run the same command again.

    \b
    Examples:
      muster fs ls lab:
      muster fs put -r ./criteo lab:data/
      muster fs get lab:data/model.bin .
      muster fs du lab:data
    """


@command.command()
@click.argument("path", type=CLUSTER_OR_REMOTE)
@click.option("-l", "long", is_flag=True, help="Show permissions, size and time.")
@click.option("-a", "--all", "all_names", is_flag=True, help="Include names that begin with a dot.")
@output_option("table", "json", "yaml", "name")
def ls(path: RemotePath, long: bool, all_names: bool, output: str) -> None:
    """List a folder on a cluster, or all folders of a cluster.

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
        echo(shown(entry.name) + ("/" if entry.kind == "folder" else ""))


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
@click.option("-r", "--recursive", is_flag=True, help="Copy whole folders.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
@_itself
@output_option("text", "json", "yaml", default="text")
def put(sources: tuple[Path, ...], target: RemotePath, recursive: bool, force: bool, itself: bool, output: str) -> None:
    """Upload files to a cluster. Each file is verified by its SHA-256 before it gets its final name.

    A link to a file is uploaded as that file. Links to folders and special files are left out, each with a warning, and
    the exit code is then 1.

    \b
    Examples:
      muster fs put train.csv lab:data/train.csv
      muster fs put a.bin b.bin lab:data/models/
      muster fs put -r ./criteo lab:data/
      muster fs put -r -T ./criteo lab:data/criteo-2      # run again to resume, without making criteo-2/criteo
    """
    for source in sources:
        if source.is_dir() and not recursive:
            raise click.UsageError(f"{source} is a folder: add -r")
    files = connect().files
    report = Report()
    if itself and len(sources) > 1:
        raise click.UsageError("-T takes only one folder or file")
    into = not itself and _is_folder(files, target)
    again = _resume_command(sources[0].is_dir() and not into)
    with file_line("putting") as line, resumable(line, "the uploaded part is kept on the cluster for a day", again):
        if len(sources) > 1 and not into:
            raise Failure(f"{target} is not a folder", hint=f"create it first: muster fs mkdir -p {target}")
        items: list[Outgoing] = []
        for source in sources:
            items += outgoing(files, source, target.child(_name(source)) if into else target, report)
        if items:
            put_all(files, items, line, report, force=force)
    _finish("put", report, output)


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("local", metavar="LOCAL", type=click.Path())
@click.option("-r", "--recursive", is_flag=True, help="Copy a whole folder.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
@_itself
@output_option("text", "json", "yaml", default="text")
def get(path: RemotePath, local: str, recursive: bool, force: bool, itself: bool, output: str) -> None:
    """Download files from a cluster. A file gets its final name only when it is complete.

    A link to a file is downloaded as that file. Links to folders, links that lead out of the cluster's folder and
    special files are left out, each with a warning, and the exit code is then 1.

    \b
    Examples:
      muster fs get lab:data/model.bin .
      muster fs get -r lab:data/criteo ./criteo
    """
    files = connect().files
    facts = files.stat(path)
    if facts.kind == "folder" and not recursive:
        raise click.UsageError(f"{path} is a folder: add -r")
    target = Path(local) if itself else _local_target(local, path)
    report = Report()
    is_folder = facts.kind == "folder"
    again = _resume_command(is_folder and target == Path(local))
    with file_line("getting") as line, resumable(line, "the downloaded part is kept next to its target", again):
        items = list(incoming(files, path, target, report)) if is_folder else [Incoming(path, facts, target)]
        if items:
            get_all(files, items, line, report, force=force)
    _finish("got", report, output)


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("target", metavar="TARGET", type=REMOTE)
@click.option("-r", "--recursive", is_flag=True, help="Copy a whole folder.")
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
def cp(path: RemotePath, target: RemotePath, recursive: bool, force: bool) -> None:
    """Copy files within a cluster, also from one of its folders to another. No data passes through this machine.

    \b
    Examples:
      muster fs cp lab:data/a.csv lab:data/b.csv
      muster fs cp -r lab:data/criteo lab:scratch/
    """
    files = connect().files
    with file_line("copying") as line:
        done = files.copy(
            path, _target_of(files, target, path.name), recursive=recursive, overwrite=force, tell=line.remote_progress
        )
    say(f"copied {_summary(done)}")
    if done.skipped:
        raise Failure(f"{done.skipped} left out: devices, pipes, sockets, or files that the node's agent may not read")


@command.command()
@click.argument("path", type=REMOTE)
@click.argument("target", metavar="TARGET", type=REMOTE)
@click.option("-f", "--force", is_flag=True, help="Replace a file that is there.")
def mv(path: RemotePath, target: RemotePath, force: bool) -> None:
    """Move or rename files within a cluster.

    \b
    Examples:
      muster fs mv lab:data/old.csv lab:data/new.csv
      muster fs mv lab:scratch/run7 lab:data/results/
    """
    files = connect().files
    to = _target_of(files, target, path.name)
    with file_line("moving") as line:
        files.move(path, to, overwrite=force, tell=line.remote_progress)
    say(f"moved {shown(path)} to {shown(to)}")


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("-r", "--recursive", is_flag=True, help="Remove whole folders.")
def rm(paths: tuple[RemotePath, ...], recursive: bool) -> None:
    """Remove files, or whole folders with -r. Links are removed, but never their targets.

    \b
    Examples:
      muster fs rm lab:data/old.csv
      muster fs rm -r lab:scratch/run7
    """
    files = connect().files
    with file_line("removing") as line:

        def remove(path: RemotePath) -> None:
            done = files.remove(path, recursive=recursive, tell=line.remote_progress)
            line.clear()
            say(f"removed {shown(path)} ({_summary(done)})" if recursive else f"removed {shown(path)}")

        _each(paths, remove)


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("-p", "--parents", is_flag=True, help="Create parent folders too; it is not an error if they exist.")
def mkdir(paths: tuple[RemotePath, ...], parents: bool) -> None:
    """Create folders on a cluster.

    \b
    Examples:
      muster fs mkdir lab:data/results
      muster fs mkdir -p lab:data/2026/07
    """
    files = connect().files
    _each(paths, lambda path: files.mkdir(path, parents=parents))


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
def cat(paths: tuple[RemotePath, ...]) -> None:
    """Print files on a cluster.

    \b
    Examples:
      muster fs cat lab:data/metrics.json
      muster fs cat lab:data/part-1 lab:data/part-2 | gzip > all.gz
    """
    files = connect().files
    _each(paths, lambda path: _print_file(files, path))


@command.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=REMOTE)
@click.option("--within", metavar="DURATION", default="60s", show_default=True, help="Stop counting after this time.")
@output_option("table", "json", "yaml")
def du(paths: tuple[RemotePath, ...], within: str, output: str) -> None:
    """Show the disk usage of folders: bytes, files and folders.

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
            found = files.usage(path, within_s=within_s, tell=line.remote_progress)
            line.clear()
            items.append(_usage(path, found))
            if output == "table":
                least = "" if found.complete else "at least "
                counts = f"{found.files} files\t{found.folders} folders"
                echo(f"{least}{about_bytes(found.bytes)}\t{counts}\t{shown(path)}")
            _warn_of_more(path, found)
    if output != "table":
        print_document({"items": items}, output)
    if not all(item["complete"] for item in items):
        say_warning(f"counting stopped after {within}; --within allows more time")


_FOLDER_COLUMNS: list[Column[FolderView]] = [
    Column("NAME", lambda folder: folder.name),
    Column("SHARED", lambda folder: "yes" if folder.shared else "each node has its own files"),
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


def _each(paths: Sequence[RemotePath], act: Callable[[RemotePath], None]) -> None:
    """Performs the action on all paths, even if it fails for one."""
    failed: list[MusterError] = []
    for path in paths:
        try:
            act(path)
        except MusterError as error:
            if len(paths) == 1 or error.code == UNREACHABLE:
                raise
            failed.append(error)
    if failed:
        problems = tuple(error.message for error in failed)
        raise Failure(f"{len(failed)} of {len(paths)} failed", hint=failed[0].hint, problems=problems)


def _target_of(files: Files, target: RemotePath, name: str) -> RemotePath:
    """The target as `cp` understands it: inside the folder if it exists, else the given name."""
    return target.child(name) if _is_folder(files, target) else target


def _is_folder(files: Files, target: RemotePath) -> bool:
    if "/" not in target.path.rstrip("/"):
        return True
    found = files.find(target)
    if found is None and target.path.endswith("/"):
        raise Failure(f"there is no folder {target}", hint=f"create it first: muster fs mkdir -p {target}")
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
        raise Failure(f"{path} was not received correctly", hint="run the command again")


def _warn_of_more(path: RemotePath, found: Progress) -> None:
    if found.unfinished:
        say_warning(f"{shown(path)}: unfinished uploads take another {about_bytes(found.unfinished)}")
    if found.skipped:
        say_warning(
            f"{shown(path)}: {found.skipped} folders were not counted: they are not readable or nested too deeply"
        )


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


def _name(source: Path) -> str:
    """The name of the local file; `.` and `..` are resolved first."""
    return source.name if source.name not in ("", "..") else source.resolve().name


def _local_target(local: str, path: RemotePath) -> Path:
    if Path(local).is_dir():
        return Path(local, path.name)
    if local.endswith("/"):
        raise Failure(f"there is no folder {local}", hint="create it first, or leave out the last /")
    return Path(local)


def _resume_command(is_new: bool) -> str:
    """The command that resumes the transfer. A new folder exists by then, so without -T files would go inside it."""
    return "the same command with -T" if is_new else "the same command"


def _finish(done: str, report: Report, output: str) -> None:
    if output != "text":
        print_document(report.document(), output)
    failure = report.failure()
    if failure is not None:
        raise failure
    count = "1 file" if len(report.sizes) == 1 else f"{len(report.sizes)} files"
    say(f"{done} {count}, {about_bytes(sum(report.sizes))}")


def _summary(done: Progress) -> str:
    left_out = f", {done.skipped} left out" if done.skipped else ""
    return f"{'1 file' if done.files == 1 else f'{done.files} files'}, {about_bytes(done.bytes)}{left_out}"
