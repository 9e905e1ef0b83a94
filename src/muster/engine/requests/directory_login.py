"""Logins with passwords that a directory checks, such as LDAP."""

from muster.domain.accounts import Token, User
from muster.domain.errors import NotAuthenticated, Unavailable
from muster.domain.sign_in import SignInRules
from muster.engine.context import Context
from muster.engine.requests.accounts import WRONG, Accounts
from muster.engine.requests.admitting import Admitting
from muster.ports.sign_in import Directory


class DirectoryLogin:
    def __init__(self, context: Context, accounts: Accounts, directory: Directory, rules: SignInRules) -> None:
        self.directory = directory
        self.rules = rules
        self._store = context.store
        self._accounts = accounts
        self._admitting = Admitting(context, accounts, rules)

    async def is_asked(self, name: str) -> bool:
        """Whether the directory checks this person's password. That of a user whom Muster has a password of stays
        here, unless the user is linked to somebody in the directory."""
        user = await self._store.user(name)
        if user is None or user.password_hash is None:
            return True
        return any(identity.issuer == self.directory.issuer for identity in await self._store.identities(name))

    async def log_in(
        self, name: str, password: str, label: str, address: str, *, most_s: float | None = None
    ) -> tuple[Token, str, User]:
        """Wrong passwords slow down their address, as all wrong passwords do."""
        counted = self._accounts.attempts.count(address, name)
        try:
            person = await self.directory.person(name, password)
        except Unavailable:
            self._accounts.attempts.succeeded(address, name, counted)
            raise
        if person is None:
            await self._accounts.record_failure(await self._store.user(name), address)
            raise NotAuthenticated(WRONG)
        self._accounts.attempts.succeeded(address, name, counted)
        return await self._admitting.log_in(person, label, address, most_s=most_s)
