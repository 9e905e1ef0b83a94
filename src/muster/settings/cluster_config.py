"""The configuration of clusters as files: a folder that admins write, and the texts that were in force last."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import structlog

from muster.domain.clusters import ClusterNode
from muster.ports.cluster_config import ClusterFile, ClusterSettings, FileTrial, LastGood, Refusal, no_refusal
from muster.settings import cluster_editing
from muster.settings.cluster_writing import add_node, node_entry, remove_node
from muster.settings.clusters import ClusterFolder
from muster.settings.folder_watch import OpenInotify, folder_changes
from muster.settings.kept_files import KeptFiles
from muster.settings.last_good import settle

_log = structlog.get_logger("settings.clusters")


class FileClusterConfig:
    """Implements `ports.cluster_config.ClusterConfig`."""

    def __init__(self, folder: ClusterFolder, kept: KeptFiles, open_inotify: OpenInotify) -> None:
        self._folder = folder
        self._kept = kept
        self._open_inotify = open_inotify
        self._texts: Mapping[str, str] | None = None
        """The texts of the files in force; None before the first reading."""
        self._settings = ClusterSettings()

    def read(self, refusal: Refusal = no_refusal) -> LastGood:
        before = self._last_texts() if self._texts is None else self._texts
        found = settle(self._folder, before, refusal)
        self._texts, self._settings = found.texts, found.settings
        if found.texts != before:
            self._keep(found.texts)
        return LastGood(found.settings, found.problems)

    def changes(self) -> AsyncIterator[None]:
        return folder_changes(self._folder.path, self._open_inotify, self._folder.files_beside)

    def add_node(self, cluster: str, request: Mapping[str, Any], password: str | None) -> ClusterNode:
        known = next((known for known in self._settings.physical if known.name == cluster), None)
        entry = node_entry(self._folder.kinds, known, request)
        settings = add_node(self._folder, cluster, entry, password, self._texts or {})
        nodes = (node for known in settings.physical if known.name == cluster for node in known.nodes)
        return next(node for node in nodes if node.name == request["name"])

    def remove_node(self, cluster: str, name: str) -> None:
        remove_node(self._folder, cluster, name, self._texts or {})

    def files(self) -> Sequence[ClusterFile]:
        return cluster_editing.shown_files(self._folder, self._texts or {})

    def file(self, name: str, *, previous: bool = False) -> ClusterFile:
        return cluster_editing.shown_file(self._folder, name, self._texts or {}, previous=previous)

    def try_file(self, name: str, text: str | None) -> FileTrial:
        return cluster_editing.tried(self._folder, name, text)

    def write_file(self, name: str, text: str | None, base: str | None) -> ClusterFile | None:
        cluster_editing.write(self._folder, name, text, base)
        return None if text is None else self.file(name)

    def _last_texts(self) -> Mapping[str, str]:
        try:
            return self._kept.read()
        except (OSError, ValueError) as error:
            _log.warning("the cluster files that were in force last cannot be read", error=str(error))
            return {}

    def _keep(self, texts: Mapping[str, str]) -> None:
        try:
            self._kept.write(texts)
        except OSError as error:
            _log.warning("the cluster files in force cannot be kept for the next start", error=str(error))
