"""`muster login`."""

import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import click

from muster.cli.passwords import ask_password, read_password, require_terminal
from muster.cli.session import say
from muster.cli.sso import has_browser, log_in_with_provider, wants_sso
from muster.cli.terminal import echo
from muster.client import certificates, contexts
from muster.client.client import Client
from muster.client.contexts import Context
from muster.client.errors import MusterError, needs_https
from muster.client.paddle_config import config_file, read_active
from muster.client.paddle_login import require_login
from muster.client.transport import Timeouts, parsed_address

if TYPE_CHECKING:
    from muster.api.accounts import LoginOut, WhoAmIOut


@click.command()
@click.argument("url", required=False)
@click.option("--sso", is_flag=True, help="Log in with the identity provider of the server, in a browser.")
@click.option(
    "--no-browser", is_flag=True, help="Like --sso, for a machine without a browser: confirm or copy a code elsewhere."
)
@click.option("-u", "--user", help="Your user name; the command asks for it if absent.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--token", help="Use this token instead of a password. Others can see it in the process list.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option(
    "--fingerprint", help="Trust the server with this certificate, which it prints when it starts, and no other."
)
@click.option(
    "--from-paddlecloud",
    is_flag=True,
    help="Take the server, the user and the password from ~/.paddle/config; the context is named after the datacenter.",
)
@click.option("--name", "context_name", help="The name of the new context; the host name of the server if absent.")
@click.pass_context
def command(
    ctx: click.Context,
    url: str | None,
    sso: bool,
    no_browser: bool,
    user: str | None,
    password_stdin: bool,
    token: str | None,
    token_stdin: bool,
    fingerprint: str | None,
    from_paddlecloud: bool,
    context_name: str | None,
) -> None:
    """Log in to a server and make it the current context.

    A certificate that no known authority has signed is shown, and remembered once you have trusted it. From then on the
    server must have this certificate.

    If the server has an identity provider, the command offers to log in with it.

    \b
    Examples:
      muster login http://train.example.org:7070
      muster login https://train.example.org --sso
      muster login https://train.example.org --user li --password-stdin < secret
      muster login https://train.example.org --token-stdin < token
      muster login https://train.example.org:7070 --fingerprint SHA256:4be1…
      muster login --from-paddlecloud
    """
    if sum((password_stdin, token is not None, token_stdin, sso or no_browser, from_paddlecloud)) > 1:
        raise click.UsageError("choose one of --sso, --password-stdin, --token, --token-stdin and --from-paddlecloud")
    if from_paddlecloud and (url or user):
        raise click.UsageError("--from-paddlecloud takes the server and the user from ~/.paddle/config")
    datacenter = read_active(config_file()) if from_paddlecloud else None
    if datacenter is not None:
        require_login(datacenter)
        url, user, context_name = datacenter.endpoint, datacenter.username, context_name or datacenter.name
    server = _with_scheme(contexts.resolve(url or ctx.find_root().params.get("server")).server)
    if token_stdin:
        token = sys.stdin.readline().strip()
    pin = _trusted(server, fingerprint)
    session: WhoAmIOut | LoginOut
    if token:
        session = _client(server, token, pin).whoami()
    elif datacenter is not None:
        session = login = _client(server, "", pin).login(datacenter.username, datacenter.password, name=_token_name())
        token = login["token"]
    elif sso or no_browser or (not user and not password_stdin and wants_sso(_client(server, "", pin))):
        login = log_in_with_provider(_client(server, "", pin), has_browser() and not no_browser)
        session, token = login, login["token"]
    else:
        if not password_stdin:
            require_terminal()
        user = user or click.prompt("User", err=True)
        password = read_password() if password_stdin else ask_password("Password")
        login = _client(server, "", pin).login(user, password, name=_token_name())
        session, token = login, login["token"]
    name = context_name or urlsplit(server).hostname or "server"
    contexts.save(contexts.load().with_context(name, Context(server, token, session["user"], pin)))
    say(f"logged in to {server} as {session['user']} ({session['role']}); context {name} is now the current one")


def _token_name() -> str:
    return f"muster login from {socket.gethostname()}"


def _client(server: str, token: str, fingerprint: str | None) -> Client:
    client = Client(server, token)
    client.transport.fingerprint = fingerprint
    return client


def _with_scheme(server: str) -> str:
    """Finds out that a server needs HTTPS before anybody types a password."""
    address = parsed_address(server)
    if address.scheme == "https":
        return server
    is_chosen = "://" in server
    if is_chosen:
        _warn_of_plain_http(address)
    if not certificates.expects_https(address, Timeouts().connect_s):
        if not is_chosen:
            _warn_of_plain_http(address)
        return server
    encrypted = address._replace(scheme="https").geturl()
    if is_chosen:
        raise needs_https(server, encrypted)
    return encrypted


def _trusted(server: str, given: str | None) -> str | None:
    """The fingerprint to remember; None if the connection needs none."""
    address = parsed_address(server)
    if address.scheme != "https":
        return None
    if given is not None:
        return certificates.normalized(given)
    try:
        certificates.check(address, Timeouts().connect_s)
    except MusterError as error:
        if error.code != certificates.UNTRUSTED:
            raise
        return _ask_for_trust(server, address, error)
    return None


def _ask_for_trust(server: str, address: SplitResult, why: MusterError) -> str:
    found = certificates.fingerprint_at(address, Timeouts().connect_s)
    known = contexts.resolve(server).fingerprint
    if known and certificates.normalized(known) == found:
        return found
    if known:
        echo(f"WARNING: the certificate of {server} has changed since you trusted it; it was {known}.", err=True)
    echo(f"{why.message}\nIts fingerprint is {found}", err=True)
    if not sys.stdin.isatty():
        raise MusterError(
            "nobody is there to say whether to trust it", code=why.code, hint=f"compare, then add --fingerprint {found}"
        )
    click.confirm("Is this what the server printed when it started?", abort=True, err=True)
    return found


def _warn_of_plain_http(address: SplitResult) -> None:
    if address.hostname not in ("localhost", "127.0.0.1", "::1"):
        echo(
            f"warning: the connection to {address.hostname} is not encrypted; others on the network can read your "
            "password, token and jobs",
            err=True,
        )
