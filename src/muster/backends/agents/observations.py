"""An agent's status of a task as an Observation, with the node's times turned into the server's."""

from collections.abc import Mapping
from typing import Any

from muster.backends.agents.connection import AgentNode
from muster.backends.agents.used_resources import used_resources
from muster.ports.backend import Observation, Phase


def observation(agent: AgentNode, status: Mapping[str, Any]) -> Observation:
    error, ours = status.get("error") or {}, agent.clock.ours
    return Observation(
        task_id=status["task"],
        phase=Phase(status["phase"]),
        handle=status["task"],
        node=agent.node.name,
        started_at=ours(status.get("started_at")),
        ended_at=ours(status.get("ended_at")),
        exit_code=status.get("exit_code"),
        signal=status.get("signal"),
        oom=bool(status.get("oom")),
        disk_full=bool(status.get("disk_full")),
        stopped=bool(status.get("stopped")),
        error_code=error.get("code", ""),
        error_message=error.get("message", ""),
        node_problem=str(status.get("node_problem") or ""),
        checkpoint_at=ours(status.get("checkpoint_at")),
        tracking_url=str(status.get("tracking_url") or ""),
        metrics_bytes=int(status.get("metrics_bytes") or 0),
        used=used_resources(status.get("used")),
    )
