"""Receivers of this machine as they are listed."""

from typing import Any

from muster.cli.tables.colours import state_colour
from muster.cli.tables.text_tables import Column
from muster.receivers.controlling import Status, supervisor_pid
from muster.receivers.deployments import Deployment


class ReceiverView:
    def __init__(self, deployment: Deployment, status: Status) -> None:
        self.raw: dict[str, Any] = {
            "name": status.instance.name,
            "state": str(status.state),
            "pid": status.pid,
            "why": status.why,
            "url": status.instance.address.url,
            "folder": str(status.instance.folder),
            "supervisorPid": supervisor_pid(deployment),
        }


def receiver_columns() -> list[Column[ReceiverView]]:
    return [
        Column("NAME", lambda one: one.raw["name"]),
        Column("STATE", lambda one: one.raw["state"], colour=state_colour),
        Column("PID", lambda one: one.raw["pid"], right=True),
        Column("SUPERVISOR", lambda one: one.raw["supervisorPid"], right=True, wide=True),
        Column("FOLDER", lambda one: one.raw["folder"]),
        Column("WHY", lambda one: one.raw["why"]),
    ]
