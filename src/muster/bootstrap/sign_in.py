"""Connects the identity providers that the settings name. Their libraries are loaded only then."""

from importlib import import_module

from muster.domain.errors import Invalid
from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.directory_login import DirectoryLogin
from muster.engine.requests.sign_in import SignIn
from muster.lib.own_environment import LDAP3, pip_install
from muster.ports.sign_in import Directory, SignInProvider
from muster.server.routes.sign_in import CALLBACK
from muster.settings.server import ServerSettings


def sign_in_of(settings: ServerSettings, context: Context, accounts: Accounts, address: str) -> SignIn | None:
    """`address` is the one at which people reach the server: the provider sends their browsers back there."""
    if settings.oidc is None:
        return None
    module = import_module("muster.identity.oidc_provider")
    provider: SignInProvider = module.build(settings.oidc, settings.oidc_secret, settings.home)
    return SignIn(context, accounts, provider, settings.oidc.rules(), f"{address}{CALLBACK}")


def directory_login_of(settings: ServerSettings, context: Context, accounts: Accounts) -> DirectoryLogin | None:
    if settings.ldap is None:
        return None
    try:
        module = import_module("muster.identity.ldap_directory")
    except ModuleNotFoundError as error:
        if error.name != "ldap3":
            raise
        raise Invalid("`ldap` needs another package", hint=pip_install(LDAP3)) from None
    directory: Directory = module.build(settings.ldap, settings.ldap_password, settings.home)
    return DirectoryLogin(context, accounts, directory, settings.ldap.rules())


def linked_token_lifetime(settings: ServerSettings) -> float | None:
    """How long tokens last, at most, of users who are linked to people of a provider."""
    return min((kind.max_token_lifetime for kind in (settings.oidc, settings.ldap) if kind is not None), default=None)
