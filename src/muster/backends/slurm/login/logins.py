"""The logins by which a cluster is used: its own, and one for each user who has jobs there, if users have logins.

That of a user is opened when it is first needed, and closed when it has had no gangs for some time. Whose are in use is
written down, so that the next server finds the gangs that are there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from muster.backends.slurm.gang_marks import login_in
from muster.backends.slurm.login.login_register import LoginRegister
from muster.backends.slurm.login.place_changes import is_same_account
from muster.backends.slurm.login.slurm_login import SERVICE, LoginMaker, SlurmLogin
from muster.backends.slurm.options import SlurmOptions, SubmitAs
from muster.domain.errors import Rejected, Unreachable
from muster.domain.failures.exit_causes import REFUSED
from muster.ports.capabilities import TaskRef

UNUSED_S = 300.0


class Logins:
    """`options` are those of the cluster as they are at that moment."""

    def __init__(self, options: Callable[[], SlurmOptions], maker: LoginMaker, register: Path) -> None:
        self._options = options
        self._maker = maker
        self._register = LoginRegister(register)
        self._users: dict[str, SlurmLogin] = {}
        self.service = maker.login(SERVICE, options())

    def __iter__(self) -> Iterator[SlurmLogin]:
        """Those that are in use."""
        return iter([self.service, *(login for login in self._users.values() if login.is_started)])

    def start(self) -> None:
        """Connect to the cluster, and by the logins that the server before had in use. What a user who has none any
        more has left there cannot be found."""
        self.service.start()
        for owner in self._register.owners:
            if (found := self._of_user(owner)) is not None:
                found.start()

    async def close(self) -> None:
        for login in self:
            await login.close()

    def for_submission(self, owner: str) -> SlurmLogin:
        """The login that jobs of this user are submitted by. Raises Rejected if there is none, and Unreachable while
        there are jobs of an earlier one."""
        options = self._options()
        if options.submit_as is not SubmitAs.LOGIN:
            return self.service
        wanted, found = options.for_owner(owner), self._of_user(owner)
        if found is None or wanted is None:
            words = (
                f"{owner} has no login on cluster {self._maker.cluster}: ask an admin to add it to the cluster's file"
            )
            raise Rejected(words, reason=REFUSED)
        if found.options != wanted:
            raise Unreachable(f"the login of {owner} changes when the jobs that it has there have ended")
        return found

    def submits(self, login: SlurmLogin) -> None:
        """Notes that something is about to be submitted by this login."""
        if login.owner:
            self._register.add(login.owner)

    def has_submitted(self, owner: str) -> bool:
        """Says whether this server, or one before it, may have submitted anything by this login."""
        return not owner or owner in self._register.owners

    def shown_for(self, owner: str) -> SlurmLogin:
        """The login that would be used. Nothing is connected."""
        return self._of_user(owner) or self.service

    def of_task(self, task: TaskRef) -> SlurmLogin | None:
        """Returns None if no known login has the task."""
        key = task.task_id.rsplit(".", 2)[0]
        for login in self:
            if key in login.mirror.gangs or key in login.launching:
                return login
        if not task.handle:
            return None if self._users else self.service
        owner = login_in(task.handle)
        return self._of_user(owner) if owner else self.service

    def named(self, name: str) -> SlurmLogin:
        """Finds a login by the name of its agent."""
        return next((login for login in self._users.values() if login.name == name), self.service)

    def of_gang(self, owner: str) -> SlurmLogin:
        """The login that a gang has been read from."""
        return self._users.get(owner, self.service)

    async def reconfigure(self) -> None:
        """A login that leads to another account now is left when its gangs have ended."""
        options = self._options()
        self.service.use(options)
        for login in list(self._users.values()):
            wanted = options.for_owner(login.owner) if options.submit_as is SubmitAs.LOGIN else None
            if wanted is not None and (not login.gang_count or is_same_account(login.options, wanted)):
                login.use(wanted)
            elif not login.gang_count:
                await self._leave(login)

    async def close_unused(self) -> None:
        for login in list(self._users.values()):
            if login.is_unused(UNUSED_S):
                await self._leave(login)

    async def _leave(self, login: SlurmLogin) -> None:
        del self._users[login.owner]
        self._register.remove(login.owner)
        await login.close()

    def _of_user(self, owner: str) -> SlurmLogin | None:
        options = self._options()
        if owner not in self._users and options.submit_as is SubmitAs.LOGIN:
            own = options.for_owner(owner)
            if own is not None:
                self._users[owner] = self._maker.login(owner, own)
        return self._users.get(owner)
