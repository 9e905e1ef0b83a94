"""Logins with an identity provider: from the first redirect to the session.

What has begun is kept in memory, because it lasts minutes: if the server restarts meanwhile, people begin again. A
browser proves with a cookie that it is the one which began, so that nobody can be logged in as somebody else by a link.
"""

import hmac
from dataclasses import dataclass

from muster.domain.accounts import Token, User
from muster.domain.errors import Forbidden, NotAuthenticated, TooMany
from muster.domain.sign_in import Person, SignInRules
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.admitting import Admitting
from muster.engine.requests.login_attempts import network_of
from muster.lib.ids import new_secret
from muster.lib.one_time import OneTime
from muster.lib.pkce import challenge_of, new_verifier
from muster.ports.sign_in import CodeRequest, DeviceRequest, SignInProvider

PENDING_S = 600.0
GRANTED_S = 300.0
BEGIN_AGAIN = "begin again: the login took too long, or was begun in another browser"
Session = tuple[Token, str, User]


@dataclass(frozen=True, slots=True)
class CommandLogin:
    """A login for the `muster` command, which waits on a port of the person's machine, or for a code that the person
    pastes."""

    challenge: str
    port: int | None = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    address: str
    """Where the browser goes next."""
    browser: str
    """The secret that the browser must show again."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A browser that has come back, with the person, and what it wanted."""

    person: Person
    target: str
    command: CommandLogin | None


@dataclass(frozen=True, slots=True)
class _Pending:
    nonce: str
    verifier: str
    browser: str
    target: str
    command: CommandLogin | None


@dataclass(frozen=True, slots=True)
class _Unconfirmed:
    """A login for the command that the person has to confirm in the same browser."""

    person: Person
    command: CommandLogin
    browser: str


@dataclass(slots=True)
class _Device:
    request: DeviceRequest
    asked_at: float


class SignIn:
    def __init__(
        self, context: Context, accounts: Accounts, provider: SignInProvider, rules: SignInRules, redirect_uri: str
    ) -> None:
        self.provider = provider
        self.rules = rules
        self._clock = context.clock
        self._accounts = accounts
        self._admitting = Admitting(context, accounts, rules)
        self._redirect_uri = redirect_uri
        self._pending: OneTime[_Pending] = OneTime(context.clock, PENDING_S)
        self._unconfirmed: OneTime[_Unconfirmed] = OneTime(context.clock, GRANTED_S)
        self._granted: OneTime[tuple[Person, str]] = OneTime(context.clock, GRANTED_S)
        self._devices: OneTime[_Device] = OneTime(context.clock, PENDING_S, most_of_one=10)

    # In a browser

    async def begin(self, address: str, target: str, command: CommandLogin | None = None) -> Begun:
        pending = _Pending(new_secret(), new_verifier(), new_secret(), target, command)
        await self.provider.address(self._request(pending, ""))  # nothing is kept if the provider does not answer
        state = self._pending.put(pending, network_of(address))
        return Begun(await self.provider.address(self._request(pending, state)), pending.browser)

    async def finish(self, state: str, browser: str, code: str, named: str | None, address: str) -> SignedIn:
        """The browser is back with a code. Raises NotAuthenticated unless this browser began the login, just now."""
        pending = self._begun(state, browser)
        counted = self._accounts.attempts.count(address, state)
        person = await self.provider.person(self._request(pending, state), code, named)
        self._accounts.attempts.succeeded(address, state, counted)
        return SignedIn(person, pending.target, pending.command)

    def give_up(self, state: str, browser: str) -> None:
        """The provider has refused the login, as it told the browser."""
        self._begun(state, browser)

    async def log_in(self, person: Person, label: str, address: str) -> Session:
        return await self._admitting.log_in(person, label, address)

    def _begun(self, state: str, browser: str) -> _Pending:
        pending = self._pending.take(state)
        if pending is None or not hmac.compare_digest(pending.browser.encode(), browser.encode()):
            raise NotAuthenticated("this login is not valid any more", hint=BEGIN_AGAIN)
        return pending

    def _request(self, pending: _Pending, state: str) -> CodeRequest:
        return CodeRequest(self._redirect_uri, state, pending.nonce, pending.verifier)

    # For the command, by way of a browser

    def ask(self, signed_in: SignedIn, browser: str, address: str) -> str:
        """Returns what the browser has to send when the person has confirmed the login of the command."""
        assert signed_in.command is not None
        return self._unconfirmed.put(_Unconfirmed(signed_in.person, signed_in.command, browser), network_of(address))

    def confirm(self, asked: str, browser: str, address: str) -> tuple[CommandLogin, str]:
        """Returns the code that the command can exchange for a token."""
        found = self._unconfirmed.take(asked)
        if found is None or not hmac.compare_digest(found.browser.encode(), browser.encode()):
            raise NotAuthenticated("this login is not valid any more", hint=BEGIN_AGAIN)
        code = self._granted.put((found.person, found.command.challenge), network_of(address))
        return found.command, code

    async def redeem(self, code: str, verifier: str, label: str, address: str) -> Session:
        counted = self._accounts.attempts.count(address, "code")
        person, challenge = self._granted.take(code) or (None, "")
        if person is None or not hmac.compare_digest(challenge_of(verifier).encode(), challenge.encode()):
            raise NotAuthenticated("this code is not valid, or not any more", hint="begin again: muster login --sso")
        self._accounts.attempts.succeeded(address, "code", counted)
        return await self.log_in(person, label, address)

    # For the command, without a browser

    async def begin_device(self, address: str) -> tuple[str, DeviceRequest]:
        counted = self._accounts.attempts.count(address, "device")
        request = await self.provider.begin_device()
        self._accounts.attempts.succeeded(address, "device", counted)
        device = _Device(request, 0.0)
        return self._devices.put(device, network_of(address), request.lifetime_s), request

    async def device_session(self, handle: str, label: str, address: str) -> Session | None:
        """The session, or None as long as the person has not confirmed the code."""
        device = self._devices.look(handle)
        if device is None:
            raise NotAuthenticated("this code is not valid any more", hint="begin again: muster login --sso")
        now = self._clock()
        if now - device.asked_at < device.request.every_s / 2:
            raise TooMany("ask less often", retry_after_s=device.request.every_s)
        device.asked_at = now
        try:
            person = await self.provider.device_person(device.request.device_code)
        except (NotAuthenticated, Forbidden):
            self._devices.take(handle)
            raise
        if person is None:
            return None
        self._devices.take(handle)
        return await self.log_in(person, label, address)
