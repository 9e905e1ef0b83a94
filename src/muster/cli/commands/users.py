"""`muster users`, which manages users."""

import sys

import click

from muster.cli.lazy_group import Group
from muster.cli.passwords import ask_password, new_password, read_password
from muster.cli.session import connect, say


@click.group(cls=Group)
def command() -> None:
    """Add, change and remove users. Admins only, except for your own password.

    \b
    Examples:
      muster users add li --role user
      muster users passwd              # your own
      muster users groups li vision guests
      muster users disable li
      muster get users
    """


@command.command()
@click.argument("name")
@click.option("--role", type=click.Choice(["user", "admin"]), default="user", show_default=True)
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of the user; repeatable.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
@click.option("--no-password", is_flag=True, help="Set no password: this user can log in only with tokens.")
def add(name: str, role: str, groups: tuple[str, ...], password_stdin: bool, no_password: bool) -> None:
    """Add a user. The command asks for the password.

    \b
    Examples:
      muster users add li --group vision
      muster users add ops --role admin --password-stdin < secret
    """
    password = None if no_password else new_password(password_stdin)
    user = connect().add_user(name, role, password, groups=groups)
    say(f"added user {user.name} ({user.role})")


@command.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def remove(name: str, yes: bool) -> None:
    """Remove a user. Their jobs stay in the history.

    \b
    Examples:
      muster users remove li
      muster users remove li -y      # without a question, for scripts
    """
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("cannot ask for confirmation without a terminal; add -y")
        click.confirm(f"Remove user {name}?", abort=True, err=True)
    connect().remove_user(name)
    say(f"removed user {name}")


@command.command()
@click.argument("name", required=False)
@click.option(
    "--password-stdin",
    is_flag=True,
    help="Read the new password from standard input; for your own, first a line with the old one.",
)
@click.option("--end-tokens", is_flag=True, help="End the tokens of the user too, not only the logins.")
def passwd(name: str | None, password_stdin: bool, end_tokens: bool) -> None:
    """Change your own password, or as an admin that of another user.

    \b
    Examples:
      muster users passwd
      muster users passwd li
      muster users passwd li --password-stdin < secret
    """
    client = connect()
    who = client.whoami()
    me = who["user"]
    changes: dict[str, str | bool] = {"endTokens": True} if end_tokens else {}
    if name in (None, me) and who["role"] != "admin":
        changes["oldPassword"] = read_password() if password_stdin else ask_password("Old password")
    changes["password"] = new_password(password_stdin)
    client.change_user(name or me, **changes)
    say(f"changed the password of {name or me}")


@command.command()
@click.argument("name")
@click.argument("groups", metavar="GROUP...", nargs=-1)
@click.option("--none", is_flag=True, help="Remove the user from all groups.")
def groups(name: str, groups: tuple[str, ...], none: bool) -> None:
    """Set the groups of a user. Virtual clusters and folders grant access to groups.

    \b
    Examples:
      muster users groups li vision guests
      muster users groups li --none
    """
    if none == bool(groups):
        raise click.UsageError("name at least one group, or use --none")
    user = connect().change_user(name, groups=list(groups))
    say(f"the groups of {user.name} are {', '.join(user.groups)}" if user.groups else f"{user.name} is in no group")


@command.command()
@click.argument("name")
def enable(name: str) -> None:
    """Enable a disabled user again.

    \b
    Example:
      muster users enable li
    """
    connect().change_user(name, disabled=False)
    say(f"enabled user {name}")


@command.command()
@click.argument("name")
def disable(name: str) -> None:
    """Disable a user and their tokens. Their jobs continue.

    \b
    Example:
      muster users disable li
    """
    connect().change_user(name, disabled=True)
    say(f"disabled user {name}")


@command.command()
@click.argument("name")
@click.option("--subject", required=True, help="Who the person is at the identity provider: its claim `sub`.")
@click.option("--issuer", metavar="URL", help="The identity provider; that of the server if absent.")
def link(name: str, subject: str, issuer: str | None) -> None:
    """Let a person of the identity provider log in as this user.

    \b
    Example:
      muster users link li --subject 248289761001
    """
    connect().link_user(name, subject, issuer)
    say(f"{subject} can log in as {name}")


@command.command()
@click.argument("name")
@click.option("--subject", help="Only the link to this person; all links if absent.")
def unlink(name: str, subject: str | None) -> None:
    """Let nobody of the identity provider log in as this user any more, and log them out.

    \b
    Example:
      muster users unlink li
    """
    connect().unlink_user(name, subject)
    say(f"{name} is no longer linked to {subject or 'anybody'}")
