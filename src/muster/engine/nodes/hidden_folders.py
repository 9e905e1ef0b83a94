"""What a node says about folders that a user may not use: nobody else learns their names."""

from dataclasses import replace

from muster.domain.access import may_use
from muster.domain.accounts import User
from muster.domain.clusters import PhysicalCluster, folder_label
from muster.domain.needs import alert_prefix
from muster.domain.nodes import Node


def without_hidden_folders(node: Node, settings: PhysicalCluster, user: User) -> Node:
    """The node without the labels and alerts of folders that the user may not use. Also a folder that is not in the
    settings any more is hidden, as nobody knows who could use it."""
    if user.is_admin:
        return node
    hidden = [folder.name for folder in settings.folders if not may_use(folder, user)]
    usable = {folder_label(folder.name) for folder in settings.folders if folder.name not in hidden}
    labels = {key: value for key, value in node.labels.items() if key in usable or not key.startswith(folder_label(""))}
    words = [alert_prefix(folder_label(name)) for name in hidden] + [f"in folder {name}, " for name in hidden]
    alerts = tuple(alert for alert in node.alerts if not any(word in alert for word in words))
    return replace(node, labels=labels, alerts=alerts)
