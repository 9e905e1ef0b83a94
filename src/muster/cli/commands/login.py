"""`muster login`."""

import socket
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import click

from muster.cli.passwords import ask_password, read_password, require_terminal
from muster.cli.session import say, say_warning
from muster.cli.sso import has_browser, log_in_with_provider, wants_sso
from muster.cli.terminal import echo
from muster.client import certificates, contexts
from muster.client.client import Client
from muster.client.contexts import Context
from muster.client.errors import TIMED_OUT, UNREACHABLE, MusterError, needs_https
from muster.client.paddle_config import config_file, read_active
from muster.client.paddle_login import require_login
from muster.client.receivers import parsed_address
from muster.client.transport import Timeouts

if TYPE_CHECKING:
    from muster.api.accounts import LoginOut, WhoAmIOut


@click.command()
@click.argument("url", metavar="[URL[,URL...]]", required=False)
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

    Several addresses, separated by commas, become one context: commands use the first that is alive. You are logged in
    to each of them, and each token goes to its own server only.

    \b
    Examples:
      muster login http://train.example.org:7070
      muster login https://train.example.org --sso
      muster login https://train.example.org --user li --password-stdin < secret
      muster login https://train.example.org --token-stdin < token
      muster login https://train.example.org:7070 --fingerprint SHA256:4be1…
      muster login --from-paddlecloud
      muster login http://a.example.org:9090,http://b.example.org:9091
    """
    if sum((password_stdin, token is not None, token_stdin, sso or no_browser, from_paddlecloud)) > 1:
        raise click.UsageError("choose one of --sso, --password-stdin, --token, --token-stdin and --from-paddlecloud")
    if from_paddlecloud and (url or user):
        raise click.UsageError("--from-paddlecloud takes the server and the user from ~/.paddle/config")
    datacenter = read_active(config_file()) if from_paddlecloud else None
    if datacenter is not None:
        require_login(datacenter)
        url, user, context_name = datacenter.endpoint, datacenter.username, context_name or datacenter.name
    chosen = contexts.resolve(url or ctx.find_root().params.get("server"))
    if token_stdin:
        token = sys.stdin.readline().strip()
    way = _Way(user, token, fingerprint, sso, no_browser, password_stdin)
    if datacenter is not None:
        way.password = datacenter.password
    entered = [one for address in chosen.receivers if (one := _enter(address.server, way, len(chosen.more) > 0))]
    if not entered:
        raise MusterError("no active receiver found", code=UNREACHABLE, hint="check the addresses")
    first = entered[0].context
    name = context_name or urlsplit(first.server).hostname or "server"
    whole = replace(first, more=tuple(one.context for one in entered[1:]))
    contexts.save(contexts.load().with_context(name, whole))
    role = next((one.role for one in entered if one.role), "")
    say(f"logged in to {_listed(whole)} as {whole.user} ({role}); context {name} is now the current one")


@dataclass
class _Way:
    """How somebody logs in. What they typed for the first of several servers is used for the others, too."""

    user: str | None
    token: str | None
    fingerprint: str | None
    sso: bool
    no_browser: bool
    password_stdin: bool
    password: str | None = None


@dataclass(frozen=True, slots=True)
class _Entered:
    context: Context
    role: str


def _enter(address: str, way: _Way, is_one_of_several: bool) -> _Entered | None:
    """Logs in to one server. Of several, one that does not answer is left out, and that is said."""
    try:
        server = _with_scheme(address)
        pin = _trusted(server, way.fingerprint)
        session, token = _session(server, pin, way)
    except MusterError as error:
        if not is_one_of_several or error.code not in (UNREACHABLE, TIMED_OUT):
            raise
        say_warning(f"{address} is left out, because it does not answer: {error.reason or error.message}")
        return None
    return _Entered(Context(server, token, session["user"], pin), str(session["role"]))


def _session(server: str, pin: str | None, way: _Way) -> "tuple[WhoAmIOut | LoginOut, str]":
    if way.token:
        return _client(server, way.token, pin).whoami(), way.token
    login: LoginOut
    if way.password is None and (
        way.sso or way.no_browser or (not way.user and not way.password_stdin and wants_sso(_client(server, "", pin)))
    ):
        login = log_in_with_provider(_client(server, "", pin), has_browser() and not way.no_browser)
        return login, login["token"]
    if way.password is None:
        if not way.password_stdin:
            require_terminal()
        way.user = way.user or str(click.prompt("User", err=True))
        way.password = read_password() if way.password_stdin else ask_password("Password")
    login = _client(server, "", pin).login(way.user or "", way.password, name=_token_name())
    return login, login["token"]


def _listed(context: Context) -> str:
    return ", ".join(one.server for one in context.receivers)


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
