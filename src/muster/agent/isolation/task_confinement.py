"""Turns the order of the server into the confinement of one task: whose it is, what it may see, its environment."""

from __future__ import annotations

import os
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from muster.agent.isolation import views
from muster.agent.isolation.accounts import Account, Accounts
from muster.agent.isolation.confined_start import Confinement
from muster.agent.isolation.device_files import others_numbers
from muster.agent.isolation.gpu_files import DeviceNumber, gpu_files, other_gpus
from muster.agent.isolation.orders import NAMESPACE, NONE, USER, IsolationOrder

_INHERITED = ("PATH", "LANG")


class Isolation(NamedTuple):
    """How one task is isolated. Without an account its processes belong to the agent's."""

    order: IsolationOrder
    account: Optional[Account]

    @property
    def is_confined(self) -> bool:
        return self.order.mode != NONE

    def closed_devices(
        self, gpus: Sequence[int], own: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Sequence[DeviceNumber]:
        """The GPUs and other devices of others, which the control group of a task has to close. A namespaced task does
        not see them. `own` and `others` are files of devices that are not GPUs."""
        return [*other_gpus(gpus), *others_numbers(own, others)] if self.order.mode == USER else ()

    def environment(self, own: Mapping[str, str], work: str) -> Dict[str, str]:
        """What the task inherits. The home of the server's account, and what is in it, is not for others."""
        inherited = {name: own[name] for name in _INHERITED if name in own}
        name = self.order.owner if self.account is None else self.account.name
        home = work if self.account is None or self.account.home is None else self.account.home
        return {**inherited, "HOME": home, "USER": name, "LOGNAME": name}

    def confinement(
        self,
        task_folder: str,
        own: Sequence[Tuple[str, bool]],
        inputs: Sequence[str],
        gpus: Sequence[int],
        device_files: Sequence[str] = (),
        shared: Sequence[str] = (),
    ) -> Confinement:
        """`own` are the parts of the task's folder that are for the task: the path, and whether it is read-only.
        `shared` are folders of its user."""
        identity = None if self.account is None else (self.account.uid, self.account.gid, list(self.account.groups))
        folders = [(folder.path, folder.read_only) for folder in self.order.folders]
        folders += [(path, True) for path in inputs] + [(path, False) for path in shared]
        if self.order.mode == NAMESPACE:
            return Confinement(identity, True, None, [*own, *folders], [*gpu_files(gpus), *device_files])
        covered = views.blocked_ancestor(task_folder)
        return Confinement(identity, False, covered, [(task_folder, False), *folders], [])


def isolation_of(order: Optional[IsolationOrder], accounts: Accounts) -> Optional[Isolation]:
    """Returns None for a task that is not isolated at all."""
    if order is None:
        return None
    needs_account = order.mode == USER or (order.mode == NAMESPACE and os.getuid() == 0)
    return Isolation(order, accounts.account_of(order) if needs_account else None)


def hand_over(folder: str, names: Sequence[str], trees: Sequence[str], account: Account) -> None:
    """Give these files of a task's folder, and all that is in these trees, to the account. The folder itself stays the
    agent's: everybody may pass through it, and nobody may list it, or replace what is in it."""
    os.chmod(folder, 0o711)
    for name in names:
        os.chown(os.path.join(folder, name), account.uid, account.gid, follow_symlinks=False)
    for tree in trees:
        for parent, folders, files in os.walk(os.path.join(folder, tree)):
            for path in _paths(parent, folders + files):
                os.chown(path, account.uid, account.gid, follow_symlinks=False)
        os.chown(os.path.join(folder, tree), account.uid, account.gid, follow_symlinks=False)


def _paths(parent: str, names: List[str]) -> List[str]:
    return [os.path.join(parent, name) for name in names]
