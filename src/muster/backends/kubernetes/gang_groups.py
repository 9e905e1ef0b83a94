"""Which PodGroups a cluster uses for gangs of plain pods, if its file asks for any."""

import asyncio
from collections.abc import Callable

from muster.backends.kubernetes.options import KubernetesOptions, Scheduling
from muster.domain.errors import MusterError, Unreachable
from muster.kubernetes.connection import Connection
from muster.kubernetes.pod_group_discovery import find_kubernetes_groups, find_volcano_groups
from muster.kubernetes.pod_groups import VOLCANO_GROUPS, kubernetes_groups
from muster.kubernetes.resources import Resource

_RETRY_S = 10.0
_SHOWN_VERSION = "v1alpha2"
"""The version that a dry run shows while the API server has not been asked."""


class GangGroups:
    """Makes the groups of gangs. Until the API server offers what the file asks for, gangs wait: one that starts
    halfway is what it should prevent."""

    def __init__(self, scheduling: Scheduling) -> None:
        self._scheduling = scheduling
        self._found: Resource | None = None
        self._why = "the API server has not been asked yet"

    @property
    def problem(self) -> str:
        """Why gangs have to wait; empty if they need not."""
        if self._scheduling is Scheduling.NONE or self._found is not None:
            return ""
        return f"PodGroups cannot be used: {self._why}"

    def required(self) -> Resource | None:
        """The resource to make PodGroups of; None if gangs need none. Raises Unreachable while it is not known."""
        if self.problem:
            raise Unreachable(self.problem)
        return self._found

    def shown(self) -> Resource | None:
        """The same for people, also while it is not known."""
        if self._scheduling is Scheduling.NONE or self._found is not None:
            return self._found
        return VOLCANO_GROUPS if self._scheduling is Scheduling.VOLCANO else kubernetes_groups(_SHOWN_VERSION)

    async def find(self, connection: Connection, options: KubernetesOptions, changed: Callable[[], None]) -> None:
        """Ask until the API server offers them, and call `changed` then. They may be installed at any time."""
        namespace = connection.namespace if options.is_per_user else options.namespace or connection.namespace
        while self.problem:
            try:
                if self._scheduling is Scheduling.VOLCANO:
                    self._found = await find_volcano_groups(connection)
                else:
                    self._found = await find_kubernetes_groups(connection, namespace)
            except MusterError as error:
                self._why = error.message
                await asyncio.sleep(_RETRY_S)
            else:
                changed()
