"""The process behind `muster cluster check`: `python -m muster.bootstrap.cluster_check`. It knows all backends.

It prints one JSON object: the `folder`, the problems as `items`, `warnings` and `notes`; or an `error` with its
`hint` and `items`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from muster.backends.kinds import BackendKind, Examination
from muster.backends.local.cluster_file import LOCAL
from muster.bootstrap.backend_kinds import backend_kinds, cluster_kinds
from muster.domain.access_names import unknown_names
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid, Problem
from muster.settings.cluster_check import check, settings_with
from muster.settings.clusters import ClusterFolder
from muster.settings.server import load_settings
from muster.stores.known_users import known_users


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster cluster check", description="Check cluster files.")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--connect", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args(argv)
    sys.stdout.write(json.dumps(_checked(arguments.folder, arguments.files, connects=arguments.connect)) + "\n")
    return 0


def _checked(folder: Path | None, files: Sequence[Path], *, connects: bool) -> Mapping[str, Any]:
    try:
        place = folder or load_settings({}).clusters_folder
    except Invalid as error:
        return {"error": error.message, "hint": error.hint, "items": [asdict(problem) for problem in error.problems]}
    kinds = backend_kinds()
    checked = ClusterFolder(place, (LOCAL,), cluster_kinds(kinds.found))
    problems = check(checked, files)
    if not files or problems:
        problems = [*problems, *kinds.problems]  # a backend that is missing may be why a file is wrong
    warnings, notes = _unknown_names(checked, files), []
    for cluster, said in _examined(checked, files, kinds.found, connects=connects):
        name, file = f"cluster {cluster.name}", Path(cluster.file).name
        problems = [*problems, *(Problem("", f"{name}: {words}", file=file) for words in said.failures)]
        warnings += [f"{name}: {words}" for words in said.warnings]
        notes += [f"{name}: {words}" for words in said.notes]
    items = [asdict(problem) for problem in problems]
    return {"folder": str(place), "items": items, "warnings": warnings, "notes": notes}


def _unknown_names(folder: ClusterFolder, files: Sequence[Path]) -> list[str]:
    """Names in access lists that this machine's server does not know, if it has a database that can be read here."""
    settings = settings_with(folder, files)
    try:
        users = known_users(load_settings({}).database_url)
    except Invalid:
        return []
    return [] if settings is None or users is None else unknown_names(settings.physical, settings.virtual, users)


def _examined(
    folder: ClusterFolder, files: Sequence[Path], kinds: Sequence[BackendKind], *, connects: bool
) -> Iterator[tuple[PhysicalCluster, Examination]]:
    """What is to be said of the clusters of these files, or of all, and what they say themselves if they are asked."""
    settings = settings_with(folder, files)
    names = {file.name for file in files}
    known = {kind.name: kind for kind in kinds}
    for cluster in settings.physical if settings is not None else ():
        kind = known.get(cluster.backend)
        if kind is None or (names and Path(cluster.file).name not in names):
            continue
        if connects and kind.examine is not None:
            yield cluster, kind.examine(cluster)
        if kind.notes is not None:
            yield cluster, Examination(notes=kind.notes(cluster))


if __name__ == "__main__":
    sys.exit(main())
