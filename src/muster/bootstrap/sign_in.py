"""Connects the identity providers that the settings name. Their libraries are loaded only then."""

from importlib import import_module

from muster.engine.context import Context
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.sign_in import SignIn
from muster.ports.sign_in import SignInProvider
from muster.server.routes.sign_in import CALLBACK
from muster.settings.server import ServerSettings


def sign_in_of(settings: ServerSettings, context: Context, accounts: Accounts, address: str) -> SignIn | None:
    """`address` is the one at which people reach the server: the provider sends their browsers back there."""
    if settings.oidc is None:
        return None
    module = import_module("muster.identity.oidc_provider")
    provider: SignInProvider = module.build(settings.oidc, settings.oidc_secret, settings.home)
    return SignIn(context, accounts, provider, settings.oidc.rules(), f"{address}{CALLBACK}")
