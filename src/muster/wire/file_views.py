"""Builds what the API answers about files."""

from typing import cast

from muster.api.files import DigestOut, FileKindName, FileOut, FolderOut, ProgressOut
from muster.domain.clusters import Folder
from muster.lib.clock import iso
from muster.ports.files import FileFacts, Hashed, Tally

_YEAR_9999 = 253_402_300_799.0
"""A file may have any modification time; ISO-8601 dates end here."""


def folder_view(folder: Folder) -> FolderOut:
    return {"name": folder.name, "shared": folder.shared, "readOnly": folder.read_only}


def file_view(name: str, facts: FileFacts, target: str | None = None) -> FileOut:
    return {
        "name": name,
        "kind": cast("FileKindName", str(facts.kind)),
        "size": facts.size,
        "modifiedAt": iso(min(max(facts.mtime, 0.0), _YEAR_9999)),
        "mode": f"{facts.mode:o}",
        "version": facts.version,
        "target": target,
    }


def digest_view(path: str, run: str, found: Hashed) -> DigestOut:
    return {"path": path, "sha256": found.sha256, "bytes": found.bytes, "run": run}


def progress_view(run: str, tally: Tally) -> ProgressOut:
    return {
        "done": tally.done,
        "run": run,
        "bytes": tally.bytes,
        "files": tally.files,
        "folders": tally.folders,
        "skipped": tally.skipped,
        "unfinished": tally.unfinished,
    }
