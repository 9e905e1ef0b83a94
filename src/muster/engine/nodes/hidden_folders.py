"""What a node says about folders that a user may not use: nobody else learns their names."""

import re
from dataclasses import replace

from muster.domain.access import may_use
from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster, folder_label
from muster.domain.needs import alert_prefix
from muster.domain.nodes import Node

_NAME = r"([A-Za-z0-9._-]+)"
_NAMED = re.compile(f"{alert_prefix(folder_label('NAME'))}|in folder NAME, ".replace("NAME", _NAME))


def without_hidden_folders(node: Node, settings: PhysicalCluster, user: User) -> Node:
    """The node without the labels and alerts of folders that the user may not use. Also a folder that is not in the
    settings any more is hidden, as nobody knows who could use it."""
    if user.is_admin:
        return node
    usable = {folder_label(name) for name in usable_folders(settings, user)}
    labels = {key: value for key, value in node.labels.items() if key in usable or not key.startswith(folder_label(""))}
    alerts = tuple(alert for alert in node.alerts if not names_hidden_folder(alert, settings, user))
    return replace(node, labels=labels, alerts=alerts)


def names_hidden_folder(alert: str, settings: PhysicalCluster, user: User) -> bool:
    """Whether an alert of a node, which may be an old one, names a folder that the user may not use."""
    named = {name for names in _NAMED.findall(alert) for name in names if name}
    return not user.is_admin and not named <= usable_folders(settings, user)


def usable_folders(settings: PhysicalCluster, user: User) -> set[str]:
    """The names of the folders that the user may use."""
    return {folder.name for folder in settings.folders if may_use(folder, user)}
