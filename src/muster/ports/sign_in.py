"""The interfaces to identity providers. They say who somebody is; what that person may do is Muster's own decision."""

from dataclasses import dataclass
from typing import Protocol

from muster.domain.sign_in import Person


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """One login with a browser. The provider sends the browser back to `redirect_uri` with `state` and a code."""

    redirect_uri: str
    state: str
    nonce: str
    verifier: str
    """The secret of PKCE: only who has it can use the code."""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One login on a machine without a browser: the person opens `address` elsewhere and enters `user_code`."""

    device_code: str
    user_code: str
    address: str
    complete_address: str | None
    """The same with the code in it, if the provider has one."""
    every_s: float
    lifetime_s: float


class SignInProvider(Protocol):
    """An OpenID Connect provider. Methods raise Unavailable if it does not answer, and NotAuthenticated if what it
    answers does not prove who somebody is."""

    @property
    def title(self) -> str:
        """How people call the provider."""
        ...

    @property
    def issuer(self) -> str: ...

    async def address(self, request: CodeRequest) -> str:
        """Where the browser has to go."""
        ...

    async def person(self, request: CodeRequest, code: str, named: str | None) -> Person:
        """The person who has logged in. A code can be used once. `named` is who the provider said that it is when it
        sent the browser back, if it did: a browser must not bring the code of another provider."""
        ...

    async def begin_device(self) -> DeviceRequest:
        """Raises NotFound if the provider does not offer this."""
        ...

    async def device_person(self, device_code: str) -> Person | None:
        """The person, or None as long as nobody has confirmed the code."""
        ...


class Directory(Protocol):
    """A directory of people with passwords, such as LDAP."""

    @property
    def issuer(self) -> str: ...

    async def person(self, name: str, password: str) -> Person | None:
        """The person of that name, or None if there is none with this password. Raises Unavailable if the directory
        does not answer."""
        ...
