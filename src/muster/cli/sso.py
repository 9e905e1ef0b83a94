"""`muster login --sso`: which way to choose, and what to tell the person."""

import os
import socket
import sys
import webbrowser
from typing import TYPE_CHECKING

import click

from muster.cli.session import say
from muster.client.client import Client
from muster.client.errors import NOT_FOUND, MusterError
from muster.client.sso_login import BrowserLogin, DeviceLogin, Listener, login_ways

if TYPE_CHECKING:
    from muster.api.accounts import LoginOut


def wants_sso(client: Client) -> bool:
    """Whether a person who has not said how to log in does it with the identity provider of the server."""
    if not sys.stdin.isatty():
        return False
    ways = login_ways(client)
    if ways["sso"] is None:
        return False
    return not ways["password"] or click.confirm(f"Log in with {ways['sso']['name']}?", default=True, err=True)


def log_in_with_provider(client: Client, has_browser: bool) -> "LoginOut":
    if has_browser:
        return _with_browser(client)
    try:
        device = DeviceLogin(client)
    except MusterError as error:
        if error.code != NOT_FOUND:
            raise
        return _with_pasted_code(client)
    say(f"Open this page on any machine, and confirm the code {device.code} there:\n  {device.address}")
    return device.complete(_label())


def has_browser() -> bool:
    """Whether a browser of this machine can show a page to the person."""
    if os.environ.get("BROWSER"):
        return True
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _with_browser(client: Client) -> "LoginOut":
    with Listener() as listener:
        login = BrowserLogin(client, listener.port)
        say(f"Log in on this page, which must show the code {login.shown_code}:\n  {login.address}")
        webbrowser.open(login.address)
        return login.complete(listener.code(login.state), _label())


def _with_pasted_code(client: Client) -> "LoginOut":
    login = BrowserLogin(client)
    say(f"Log in on this page, on any machine; it must show the code {login.shown_code}:\n  {login.address}")
    return login.complete(str(click.prompt("The code that the page shows at the end", err=True)).strip(), _label())


def _label() -> str:
    return f"muster login from {socket.gethostname()}"
