"""`python -m muster.bootstrap.backup`: backup, restore and release, which `muster server` starts.

A backup is one archive with all rows of the database at one moment and the files of the home folder. The rows are
copied first: a file that they need is never removed before they are, except by the retention of old jobs.
"""

import argparse
import io
import json
import os
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from muster.bootstrap.error_printing import print_error
from muster.bootstrap.first_run import own_user
from muster.bootstrap.home_folder import lock_home, make_home
from muster.domain.errors import Conflict, Invalid, MusterError
from muster.engine.state.event_builders import audit_event
from muster.lib.counting import counted
from muster.settings.private_files import write_private
from muster.settings.secret_keys import NAME as SECRET_KEYS
from muster.settings.server import ServerSettings, load_settings
from muster.stores import backup
from muster.stores.database_engines import parse_url, sqlite_file
from muster.stores.opening import upgrade_database
from muster.stores.tables import HEAD, metadata

_FOLDERS = ("packages", "logs", "outputs", "clusters.d", "host-keys")
_FILES = ("config.yaml", "identity", "archive-key", "tls.crt", "tls.key")
_MANIFEST = "manifest.json"


def make_backup(settings: ServerSettings, target: Path, *, with_secrets_key: bool = False) -> dict[str, int]:
    """Write the backup under a temporary name, and give it its name when it is complete. The key of the secrets is in
    it only if that was asked for: with the key, the archive reveals them."""
    _check_source(settings)
    partial = target.with_name(f".{target.name}.partial")
    with _writing(target), tempfile.TemporaryDirectory(dir=target.parent, prefix=".muster-backup-") as folder:

        def write(table: str, lines: Iterable[str]) -> None:
            with (Path(folder) / f"{table}.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(lines)

        counts = backup.dump(settings.database_url, write)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
            manifest = {"schema": HEAD, "at": time.time(), "rows": counts}
            _add_text(archive, _MANIFEST, json.dumps(manifest, indent=2))
            for table in counts:
                archive.add(Path(folder) / f"{table}.jsonl", f"tables/{table}.jsonl")
            _add_files(archive, settings.home)
            if with_secrets_key and settings.secrets_key_path.exists():
                archive.add(settings.secrets_key_path, f"home/{SECRET_KEYS}", recursive=False)
            archive.close()
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    return counts


def restore(settings: ServerSettings, source: Path, *, replace: bool) -> dict[str, Any]:
    """Fill the database, then add the files that the home folder does not have. Returns the manifest."""
    make_home(settings.home)
    with lock_home(settings.home), _opened(source) as archive:
        manifest = dict(json.loads(_text(archive, _MANIFEST)))
        upgrade_database(settings.database_url)

        def read(table: str) -> Iterable[str]:
            member = archive.extractfile(f"tables/{table}.jsonl")
            assert member is not None
            return io.TextIOWrapper(member, encoding="utf-8")

        missing = [
            table.name for table in metadata.sorted_tables if f"tables/{table.name}.jsonl" not in archive.getnames()
        ]
        if missing:
            raise Invalid(f"the backup is not complete: {', '.join(missing)} is missing")
        identity = backup.load(settings.database_url, str(manifest["schema"]), read, replace=replace)
        _extract_files(archive, settings.home)
        if identity:
            write_private(settings.home / "identity", f"{identity}\n")  # nodes know the server by it
    return manifest


def _check_source(settings: ServerSettings) -> None:
    """Raises Invalid if there is nothing to back up, instead of making an archive of an empty folder."""
    file = sqlite_file(parse_url(settings.database_url))
    if not settings.home.is_dir():
        missing = f"there is no home folder {settings.home}"
    elif file is not None and not file.exists():
        missing = f"there is no database {file}"
    else:
        return
    hint = "name the folder and the database of the server: muster server --home FOLDER --database URL"
    raise Invalid(missing, hint=hint)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or target
        hint = "give a file in a folder that exists, that you may write to and that has enough space"
        raise Invalid(f"cannot write the backup {target}: {where}: {error.strerror}", hint=hint) from None


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(source, "r:gz") as archive:
            yield archive
    except (OSError, EOFError, tarfile.TarError, KeyError) as error:
        raise Invalid(f"cannot read {source}: {error}", hint="give a file that `muster server backup` made") from None


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    entry.mode = 0o600
    archive.addfile(entry, io.BytesIO(text.encode()))


def _add_files(archive: tarfile.TarFile, home: Path) -> None:
    """Files that are removed meanwhile are left out, and so are links and unfinished uploads."""
    found = [home / name for name in _FILES]
    found += [path for name in _FOLDERS for path in sorted((home / name).rglob("*")) if "uploads" not in path.parts]
    for path in found:
        try:
            if path.is_file() and not path.is_symlink():
                archive.add(path, f"home/{path.relative_to(home)}", recursive=False)
        except FileNotFoundError:
            continue


def _extract_files(archive: tarfile.TarFile, home: Path) -> None:
    for member in archive:
        path = PurePosixPath(member.name)
        if not member.isreg() or path.parts[:1] != ("home",) or ".." in path.parts:
            continue
        target = home.joinpath(*path.parts[1:])
        is_identity = path.parts[1:] == ("identity",)
        if target.exists() and not is_identity:
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = archive.extractfile(member)
        assert content is not None
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, member.mode & 0o700), "wb") as file:
            while data := content.read(1 << 20):
                file.write(data)


def _text(archive: tarfile.TarFile, name: str) -> str:
    member = archive.extractfile(name)
    assert member is not None
    return member.read().decode()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster server", description="Back up and restore a Muster server.")
    parser.add_argument("what", choices=("backup", "restore", "release"))
    parser.add_argument("file", nargs="?")
    parser.add_argument("--home")
    parser.add_argument("--config")
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--with-secrets-key", action="store_true")
    given = parser.parse_args(argv)
    try:
        settings = load_settings({"home": given.home, "config": given.config})
        sys.stdout.write(_run(given.what, settings, given) + "\n")
    except MusterError as error:
        print_error(error)
        return 1
    return 0


def _run(what: str, settings: ServerSettings, given: argparse.Namespace) -> str:
    if what == "release":
        released = audit_event("server.release", own_user(settings.home), time.time())
        if not backup.release(settings.database_url, released):
            raise Conflict("the server is not held", hint="only a restored database starts held")
        return "released: the server schedules jobs again"
    path = Path(given.file or "").absolute()
    if what == "backup":
        counts = make_backup(settings, path, with_secrets_key=given.with_secrets_key)
        said = f"backed up {counted(counts['jobs'], 'job')} and {counted(counts['events'], 'event')} to {path}"
        return said + _about_key(settings, counts["secrets"], is_in_it=given.with_secrets_key)
    manifest = restore(settings, path, replace=given.replace)
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(manifest["at"])))
    return (
        f"restored {counted(manifest['rows']['jobs'], 'job')} as they were at {at}\n"
        "The next start is held: it starts and stops nothing, and its log says what differs on the nodes.\n"
        "`muster server release` lets it go on."
    )


def _about_key(settings: ServerSettings, secrets: int, *, is_in_it: bool) -> str:
    if not secrets:
        return ""
    if is_in_it and settings.secrets_key_path.exists():
        return f"\nIt has {secrets} secrets and their key: whoever can read it can read them."
    return f"\nIt has {secrets} secrets, encrypted, without their key: keep a copy of {settings.secrets_key_path}."


if __name__ == "__main__":
    sys.exit(main())
