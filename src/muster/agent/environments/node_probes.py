"""The slow operations that examine the node: its devices, folders, container engines and environments."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from muster.agent.environments import discovery
from muster.agent.environments.container_engines import find_engines
from muster.agent.environments.trials import EnvironmentTests, trial
from muster.agent.files.folder_checks import FolderChecks, folder_orders
from muster.agent.isolation import device_files
from muster.agent.isolation.accounts import Accounts
from muster.agent.requests import device_paths
from muster.agent.system.file_identity import FileIdentity
from muster.agent.tasks.cgroups import Groups

Work = Callable[[], Dict[str, Any]]


class Surroundings:
    """`identity_of` finds the account with whose rights the environments of a request are listed."""

    def __init__(
        self,
        gpu_source: Callable[[], str],
        accounts: Accounts,
        groups: Groups,
        identity_of: Callable[[Mapping[str, Any]], Optional[FileIdentity]],
    ) -> None:
        self._identity_of = identity_of
        self._gpu_source = gpu_source
        self._checks = FolderChecks()
        self._accounts = accounts
        self._tests = EnvironmentTests(groups)

    def operations(self) -> Dict[str, Callable[[Mapping[str, Any]], Work]]:
        return {
            "check_devices": self._check_devices,
            "check_folders": self._check_folders,
            "engines": self._engines,
            "environments": self._environments,
            "test_environment": self._test_environment,
            "environment_packages": self._environment_packages,
        }

    def _check_devices(self, request: Mapping[str, Any]) -> Work:
        paths = device_paths(request, "paths")
        return lambda: {"problems": device_files.problems(paths)}

    def _check_folders(self, request: Mapping[str, Any]) -> Work:
        orders = folder_orders(request)
        return lambda: {"folders": self._checks.check(orders)}

    def _engines(self, request: Mapping[str, Any]) -> Work:
        source = self._gpu_source()
        return lambda: find_engines(source)

    def _environments(self, request: Mapping[str, Any]) -> Work:
        wanted = discovery.Wanted(request, self._identity_of(request))
        return lambda: discovery.find(wanted)

    def _test_environment(self, request: Mapping[str, Any]) -> Work:
        one = trial(request, self._accounts)
        return lambda: self._tests.test(one)

    def _environment_packages(self, request: Mapping[str, Any]) -> Work:
        one = trial(request, self._accounts)
        return lambda: self._tests.packages(one)
