"""Environments of nodes with agents. The agents list and test them; this module sends the requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.containers import Engines
from muster.backends.agents.isolation import PoolIsolation
from muster.domain.clusters import PhysicalCluster
from muster.launch.containers import Engine, device_arguments, trial_account
from muster.launch.runtimes import conda_activation
from muster.ports.environments import (
    Environment,
    EnvironmentKind,
    FrameworkTrial,
    InstalledPackage,
    Inventory,
    Listing,
    Trial,
)


class AgentEnvironments:
    """Implements `ports.environments.Environments`."""

    def __init__(
        self,
        settings: Callable[[], PhysicalCluster],
        agent_of: Callable[[str], AgentNode],
        engines: Engines,
        isolation: PoolIsolation,
    ) -> None:
        self._settings = settings
        self._agent_of = agent_of
        self._engines = engines
        self._isolation = isolation

    async def listing(self, node: str, folders: Sequence[str], user: str | None) -> Listing:
        settings, engine, agent = self._settings(), self._engine(node), self._agent_of(node)
        if not agent.hello:
            await agent.ask("ping")  # which waits for the connection, and so for what the agent reports
        answer = await agent.ask(
            "environments",
            isolation=None if user is None else await self._isolation.account_order(agent, user),
            conda=settings.conda_root,
            folders=[
                {"name": folder.name, "path": folder.path} for folder in settings.folders if folder.name in folders
            ],
            engine={"name": engine.name, "program": engine.program} if engine else None,
        )
        found = (_environment(one) for one in answer["environments"])
        return Listing(node, tuple(found), tuple(str(problem) for problem in answer["problems"]))

    async def test(self, node: str, environment: Environment, gpu: int | None, user: str) -> Trial:
        agent = self._agent_of(node)
        isolation = await self._isolation.trial_order(agent, user, environment.path)
        answer = await agent.ask("test_environment", isolation=isolation, **self._trial(node, environment, gpu))
        return Trial(
            node=node,
            environment=environment,
            gpu=gpu,
            python=str(answer["python"]),
            error=str(answer["error"]),
            frameworks=tuple(_framework(one, gpu) for one in answer["frameworks"]),
        )

    async def packages(self, node: str, environment: Environment, user: str) -> Inventory:
        agent = self._agent_of(node)
        isolation = await self._isolation.trial_order(agent, user, environment.path)
        answer = await agent.ask("environment_packages", isolation=isolation, **self._trial(node, environment, None))
        return Inventory(
            node=node,
            environment=environment,
            python=str(answer["python"]),
            error=str(answer["error"]),
            packages=tuple(_package(one) for one in answer["packages"]),
        )

    def _trial(self, node: str, environment: Environment, gpu: int | None) -> dict[str, Any]:
        devices = "" if gpu is None else str(gpu)
        engine = self._engine(node)
        if environment.kind is not EnvironmentKind.IMAGE or engine is None:
            is_conda = environment.kind is EnvironmentKind.CONDA
            before = list(conda_activation(environment.path)) if is_conda else None
            return {"path": environment.path, "devices": devices, "before": before}
        words = [*trial_account(engine), *device_arguments(engine, () if gpu is None else (gpu,))]
        inside = "0" if gpu is not None and engine.renumbers else devices
        return {"image": environment.name, "program": engine.program, "words": words, "devices": inside}

    def _engine(self, node: str) -> Engine | None:
        found = self._engines.found(node)
        return found.engine if found is not None else None


def _environment(raw: Mapping[str, Any]) -> Environment:
    return Environment(
        kind=EnvironmentKind(raw["kind"]),
        name=str(raw["name"]),
        path=str(raw["path"]),
        python=str(raw["python"]),
        frameworks={str(name): str(version) for name, version in raw["frameworks"].items()},
    )


def _package(raw: Mapping[str, Any]) -> InstalledPackage:
    return InstalledPackage(str(raw["name"]), str(raw["version"]), str(raw["source"]))


def _framework(raw: Mapping[str, Any], gpu: int | None) -> FrameworkTrial:
    gpus = raw.get("gpus")
    return FrameworkTrial(
        name=str(raw["name"]),
        version=str(raw["version"]),
        gpus=None if gpus is None or gpu is None else int(gpus),
        error=str(raw.get("error") or ""),
    )
