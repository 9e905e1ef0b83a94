"""`muster login`."""

import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from muster.cli.session import say
from muster.client import contexts
from muster.client.client import Client
from muster.client.contexts import Context

if TYPE_CHECKING:
    from muster.api.accounts import LoginOut, WhoAmIOut


@click.command()
@click.argument("url", required=False)
@click.option("-u", "--user", help="Your user name; the command asks for it if absent.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--token", help="Use this token instead of a password. Others can see it in the process list.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.option("--name", "context_name", help="The name of the new context; the host name of the server if absent.")
@click.pass_context
def command(
    ctx: click.Context,
    url: str | None,
    user: str | None,
    password_stdin: bool,
    token: str | None,
    token_stdin: bool,
    context_name: str | None,
) -> None:
    """Log in to a server and make it the current context.

    \b
    Examples:
      muster login http://train.example.org:7070
      muster login https://train.example.org --user li --password-stdin < secret
      muster login https://train.example.org --token-stdin < token
    """
    if sum((password_stdin, token is not None, token_stdin)) > 1:
        raise click.UsageError("choose one of --password-stdin, --token and --token-stdin")
    server = contexts.resolve(url or ctx.find_root().params.get("server")).server
    if token_stdin:
        token = sys.stdin.readline().strip()
    session: WhoAmIOut | LoginOut
    if token:
        session = Client(server, token).whoami()
    else:
        user = user or click.prompt("User", err=True)
        password = sys.stdin.readline().rstrip("\n") if password_stdin else _ask_password()
        login = Client(server, "").login(user, password, name=f"muster login from {socket.gethostname()}")
        session, token = login, login["token"]
    name = context_name or urlsplit(server).hostname or "server"
    contexts.save(contexts.load().with_context(name, Context(server, token, session["user"])))
    say(f"logged in to {server} as {session['user']} ({session['role']}); context {name} is now the current one")


def _ask_password() -> str:
    return str(click.prompt("Password", hide_input=True, err=True))
