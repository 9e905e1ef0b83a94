"""Everything that a server has by its own packages and by those of other distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import structlog

from muster.backends.kinds import BackendKind, Builder, Site
from muster.bootstrap.backend_kinds import backend_kinds
from muster.bootstrap.plugins import DIALECTS, NOTIFIERS, Named, load_plugins
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import BackendError, MusterError, Problem
from muster.ports.backend import Backend
from muster.wire.dialects import detecting
from muster.wire.dialects.detecting import Dialect

_log = structlog.get_logger("server.plugins")


@dataclass(frozen=True, slots=True)
class Extensions:
    backends: tuple[BackendKind, ...]
    dialects: tuple[Dialect, ...]
    notifiers: tuple[Named, ...]
    problems: Sequence[Problem]
    """Plugins that cannot be used."""


def load_extensions() -> Extensions:
    backends = backend_kinds()
    dialects = load_plugins(DIALECTS, Dialect, [dialect.name for dialect in detecting.DIALECTS])
    notifiers = load_plugins(NOTIFIERS, Named)  # type: ignore[type-abstract]  # any class with a name will do
    problems = (*backends.problems, *dialects.problems, *notifiers.problems)
    for problem in problems:
        _log.error("plugin is not used", problem=str(problem))
    return Extensions(backends.found, (*detecting.DIALECTS, *dialects.found), notifiers.found, problems)


def guarded_builder(kind: BackendKind, site: Site) -> Builder:
    """The builder of a kind, whose mistakes are those of one cluster: the server goes on without it."""

    @cache
    def builder() -> Builder:
        return kind.builder(site)

    def build(cluster: PhysicalCluster) -> Backend:
        try:
            return builder()(cluster)
        except MusterError:
            raise
        except (Exception, SystemExit) as error:  # whatever the code of others does
            why = f"{type(error).__name__}: {error}"
            raise BackendError(f"the backend {kind.name} cannot be built: {why}") from error

    return build
