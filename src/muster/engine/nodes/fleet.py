"""The backends of the physical clusters. They are built from the cluster files and configured again when these change.

A cluster that is no longer in any file drains: it gets no new task, and is removed when its jobs and nodes are gone.
The nodes of an engine are not waited for.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import MusterError
from muster.domain.jobs import HOLDING, Queued
from muster.engine.context import Context
from muster.engine.lifecycle.dependencies import queue
from muster.engine.lifecycle.reconciling import place, reconcile
from muster.ports.backend import Backend, BackendListener
from muster.scheduling.cluster_state import ClusterState

_log = structlog.get_logger("engine.fleet")
_LOOK_EVERY_S = 5.0

Builder = Callable[[PhysicalCluster], Backend]


class Fleet:
    def __init__(self, context: Context, listener: BackendListener, builders: Mapping[str, Builder]) -> None:
        self._context = context
        self._listener = listener
        self._builders = builders
        self._own = {name: backend.settings.backend for name, backend in context.backends.items()}
        """The clusters that the server has without any file, and the names of their backends."""

    async def build(self) -> None:
        """Build all backends. This comes before jobs are loaded, as their needs depend on the settings of clusters.
        Nothing is connected yet."""
        for settings in self._context.config.physical:
            if settings.name in self._own:
                await self._context.backends[settings.name].configure(settings)
            else:
                self._add(settings)

    async def start(self) -> None:
        """Start all backends, except for one that is switched off and has no job to end."""
        for name, backend in list(self._context.backends.items()):
            if not backend.settings.is_enabled:
                await self._switch_off(name)
        await asyncio.gather(*(self._start(name) for name in list(self._context.backends)))

    async def follow(self) -> None:
        """Apply the cluster files after they have changed."""
        own = {name: PhysicalCluster(name, backend) for name, backend in self._own.items()}
        wanted = own | {settings.name: settings for settings in self._context.config.physical}
        for name, settings in wanted.items():
            if name not in self._context.backends and settings.is_enabled:
                await self._join(settings)
        for name, backend in list(self._context.backends.items()):
            settings = self._settings_for(backend, wanted.get(name))
            if settings != backend.settings:
                await self._configure(backend, settings)

    async def close(self) -> None:
        await asyncio.gather(*(backend.close() for backend in self._context.backends.values()))

    def _settings_for(self, backend: Backend, found: PhysicalCluster | None) -> PhysicalCluster:
        """The settings that the backend should have now. A backend that is replaced by one of another kind leaves
        first, as if its file had been removed."""
        if found is not None and found.backend == backend.settings.backend:
            return found
        return replace(backend.settings, is_leaving=True)

    async def _configure(self, backend: Backend, settings: PhysicalCluster) -> None:
        before = (backend.settings.folders, backend.settings.conda)
        try:
            await backend.configure(settings)
        except MusterError as error:
            _log.error("cluster not configured", cluster=backend.cluster, error=str(error))
            return
        if (settings.folders, settings.conda) != before:
            for entry in self._context.open_jobs.entries():
                if entry.job.cluster == backend.cluster and isinstance(entry.job.state, Queued):
                    queue(self._context, entry)  # the labels that it needs may have other names now
        self._listener.nodes_changed(backend.cluster)
        if settings.is_leaving:
            self._context.spawn(self._remove_when_idle(backend.cluster), f"leaving {backend.cluster}")
        elif not settings.is_enabled:
            await self._switch_off(backend.cluster)

    async def _switch_off(self, name: str) -> None:
        """Remove a cluster that is switched off. Jobs that run there come to their end first."""
        if self._is_in_use(name):
            self._context.spawn(self._remove_when_idle(name), f"leaving {name}")
        else:
            await self._remove(name)

    def _add(self, settings: PhysicalCluster) -> bool:
        """Build the backend of a cluster. Returns whether it could be built; if not, that is tried again when the files
        change."""
        _log.info("cluster", name=settings.name, backend=settings.backend, nodes=len(settings.nodes))
        try:
            self._context.backends[settings.name] = self._builders[settings.backend](settings)
        except MusterError as error:
            _log.error("cluster has no backend", cluster=settings.name, error=str(error))
            return False
        state = ClusterState(settings.name)
        state.configured(self._context.config.of(settings.name))
        self._context.clusters[settings.name] = state
        return True

    async def _join(self, settings: PhysicalCluster) -> None:
        if not self._add(settings):
            return
        for entry in self._context.open_jobs.entries():
            if entry.job.cluster == settings.name:  # it was accepted when the server had this cluster before
                place(self._context, entry)
        await self._start(settings.name)

    async def _start(self, name: str) -> None:
        try:
            await self._context.backends[name].start(self._listener)
            self._listener.nodes_changed(name)
            await reconcile(self._context, name)
        except MusterError as error:
            _log.error("backend did not start", cluster=name, error=str(error))

    async def _remove_when_idle(self, name: str) -> None:
        while self._is_in_use(name):  # noqa: ASYNC110 - jobs and nodes end by themselves, and the file may come back
            await asyncio.sleep(_LOOK_EVERY_S)
        backend = self._context.backends.get(name)
        if backend is not None and (backend.settings.is_leaving or not backend.settings.is_enabled):
            await self._remove(name)

    async def _remove(self, name: str) -> None:
        backend = self._context.backends.pop(name)
        del self._context.clusters[name]
        await backend.close()
        _log.info("cluster is gone", name=name)
        for settings in self._context.config.physical:
            if settings.name == name and settings.is_enabled:
                await self._join(settings)

    def _is_in_use(self, name: str) -> bool:
        backend = self._context.backends.get(name)
        if backend is None:
            return False
        jobs = [entry.job for entry in self._context.open_jobs.entries() if entry.job.cluster == name]
        if not backend.settings.is_enabled:
            return any(isinstance(job.state, HOLDING) for job in jobs)
        has_own_nodes = backend.capabilities.engine is None and bool(backend.nodes())  # an engine keeps its nodes
        return backend.settings.is_leaving and (has_own_nodes or bool(jobs))
