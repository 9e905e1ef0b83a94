"""Builds what the API answers about environments."""

from collections.abc import Sequence

from muster.api.environments import EnvironmentOut, EnvironmentPackagesOut, EnvironmentTestOut, FrameworkTestOut
from muster.ports.environments import Environment, FrameworkTrial, Inventory, Trial


def environment_view(cluster: str, environment: Environment, nodes: Sequence[str]) -> EnvironmentOut:
    """`nodes` are those that have it in exactly this form."""
    return {
        "cluster": cluster,
        "kind": str(environment.kind),
        "name": environment.name,
        "path": environment.path,
        "python": environment.python,
        "frameworks": dict(environment.frameworks),
        "nodes": list(nodes),
    }


def trial_view(trial: Trial) -> EnvironmentTestOut:
    frameworks = [_framework_view(one) for one in trial.frameworks]
    return {
        "node": trial.node,
        "kind": str(trial.environment.kind),
        "name": trial.environment.name,
        "ok": not trial.error and all(one["ok"] for one in frameworks),
        "python": trial.python,
        "card": trial.gpu,
        "error": trial.error,
        "frameworks": frameworks,
    }


def inventory_view(found: Inventory) -> EnvironmentPackagesOut:
    return {
        "node": found.node,
        "kind": str(found.environment.kind),
        "name": found.environment.name,
        "python": found.python,
        "error": found.error,
        "packages": [{"name": one.name, "version": one.version, "source": one.source} for one in found.packages],
    }


def _framework_view(one: FrameworkTrial) -> FrameworkTestOut:
    is_blind = one.gpus == 0
    return {
        "name": one.name,
        "version": one.version,
        "ok": not one.error and not is_blind,
        "gpus": one.gpus,
        "error": one.error or ("it does not see the GPU" if is_blind else ""),
    }
