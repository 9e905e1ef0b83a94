"""`muster up` and `muster server`, which replace this process by the server. No server code is imported here."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from muster.cli.commands.server_logs import logs


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on [7070]; 0 takes a free one.")
@click.option("--host", help="The address to listen on [127.0.0.1].")
@click.option("--home", type=click.Path(file_okay=False), help="Where everything is kept [MUSTER_HOME, ~/.muster].")
def up(port: int | None, host: str | None, home: str | None) -> None:
    """Start Muster on this machine: server, scheduler and node in one.

    The first start makes you an admin and writes a login context, so that `muster` works at once. Ctrl-C stops the
    server; running jobs continue, and the next start finds them again.

    \b
    Examples:
      muster up
      muster up --port 0        # the first line of its output is the address
      MUSTER_HOME=/data/muster muster up &
    """
    _become_server(home, [("--port", port), ("--host", host)])


@click.group(invoke_without_command=True)
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on [7070]; 0 takes a free one.")
@click.option("--host", help="The address to listen on [127.0.0.1]; 0.0.0.0 lets others in.")
@click.option("--home", type=click.Path(file_okay=False), help="Where everything is kept [MUSTER_HOME, ~/.muster].")
@click.option("--database", metavar="URL", help="postgresql://… instead of SQLite in the home folder.")
@click.option("--config", type=click.Path(dir_okay=False, exists=True), help="The settings file.")
@click.option(
    "--tls-cert", type=click.Path(dir_okay=False, exists=True), help="Serve HTTPS with this certificate (PEM)."
)
@click.option("--tls-key", type=click.Path(dir_okay=False, exists=True), help="The key of the certificate (PEM).")
@click.option("--tls-self-signed", is_flag=True, help="Serve HTTPS with a certificate of its own, which clients pin.")
@click.option("--standby", is_flag=True, help="Share the home folder of a running server, and replace it when it dies.")
@click.option("--access-log", is_flag=True, help="Log every request.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="How much to log [info].")
@click.option("--log-file", type=click.Path(dir_okay=False), help="Log to this file too; full files are rotated.")
@click.pass_context
def server(
    context: click.Context,
    port: int | None,
    host: str | None,
    home: str | None,
    database: str | None,
    config: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    tls_self_signed: bool,
    standby: bool,
    access_log: bool,
    log_level: str | None,
    log_file: str | None,
) -> None:
    """Start a server with all its settings, for example in systemd units and containers. `muster up` is the short form.

    \b
    Examples:
      muster server --host 0.0.0.0 --database postgresql://muster@db/muster
      muster server --host 0.0.0.0 --tls-self-signed
      muster server --host 0.0.0.0 --tls-cert /etc/ssl/muster.pem --tls-key /etc/ssl/muster.key
      muster server --config /etc/muster.yaml --log-level warning
      muster server --log-file /var/log/muster/server.log
      muster server recover-admin li
    """
    if database is not None:
        os.environ["MUSTER_DATABASE"] = database  # it may contain a password, and everybody can see arguments
    if context.invoked_subcommand is not None:
        context.obj = {"home": home, "config": config}
        return
    given = [("--port", port), ("--host", host), ("--config", config), ("--log-level", log_level)]
    paths = {"--tls-cert": tls_cert, "--tls-key": tls_key, "--log-file": log_file}
    files = [(option, _absolute(path)) for option, path in paths.items()]
    flags = {"--standby": standby, "--access-log": access_log, "--tls-self-signed": tls_self_signed}
    _become_server(home, [*given, *files], [flag for flag, is_given in flags.items() if is_given])


@server.command("recover-admin")
@click.argument("name", required=False)
@click.option(
    "--home", type=click.Path(file_okay=False), help="The home folder of the server [MUSTER_HOME, ~/.muster]."
)
@click.option("--config", type=click.Path(dir_okay=False, exists=True), help="The settings file.")
def recover_admin(name: str | None, home: str | None, config: str | None) -> None:
    """Make a user an admin again, on the server's own machine. The default is your own user name.

    The user is created if it does not exist, and enabled if it is disabled. A token that lasts an hour is printed. Only
    who can read the home folder or the database of the server can do this; the server may run meanwhile.

    \b
    Examples:
      muster server recover-admin
      MUSTER_TOKEN=$(muster server recover-admin li) muster users passwd li
    """
    words = [sys.executable, "-m", "muster.bootstrap.recovery", *([name] if name else [])]
    for option, value in (("--home", home), ("--config", config)):
        words += [option, value] if value is not None else []
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - an argument list, no shell


@server.command("rotate-secrets-key")
@click.option("--drop-old", is_flag=True, help="Remove older keys. Secrets in older backups are lost then.")
@click.pass_obj
def rotate_secrets_key(given: dict[str, str | None], drop_old: bool) -> None:
    """Encrypt all secrets with a new key. The server may run meanwhile.

    \b
    Examples:
      muster server rotate-secrets-key
      muster server rotate-secrets-key --drop-old
    """
    _become_tool("secret_rotation", given, ["--drop-old"] if drop_old else [])


@server.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--with-secrets-key", is_flag=True, help="Add the key of the secrets: the archive can then reveal them.")
@click.pass_obj
def backup(given: dict[str, str | None], file: str, with_secrets_key: bool) -> None:
    """Back up the database and the files of the home folder into one archive. The server may run meanwhile.

    Secrets are in it as they are stored, encrypted. Their key is not, unless you ask for it: keep a copy elsewhere.

    \b
    Examples:
      muster server backup /backup/muster.tar.gz
      muster server backup --with-secrets-key /safe/muster.tar.gz
      muster server --home /data/muster --database postgresql://muster@db/muster backup muster.tar.gz
    """
    words = ["backup", str(Path(file).absolute()), *(["--with-secrets-key"] if with_secrets_key else [])]
    _become_tool("backup", given, words)


@server.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@click.option("--replace", is_flag=True, help="Delete what the database has now.")
@click.pass_obj
def restore(given: dict[str, str | None], file: str, replace: bool) -> None:
    """Restore a backup, while no server runs. The next start is held: it starts and stops nothing until it is released.

    \b
    Examples:
      muster server restore /backup/muster.tar.gz
      muster server restore --replace /backup/muster.tar.gz
    """
    _become_tool("backup", given, ["restore", str(Path(file).absolute()), *(["--replace"] if replace else [])])


@server.command()
@click.pass_obj
def release(given: dict[str, str | None]) -> None:
    """Let a restored server act, once you have seen what differs.

    \b
    Examples:
      muster server release
    """
    _become_tool("backup", given, ["release"])


server.add_command(logs)


def _become_tool(module: str, given: dict[str, str | None], words: list[str]) -> NoReturn:
    options = [word for name in ("home", "config") if (value := given[name]) for word in (f"--{name}", value)]
    sys.stdout.flush()
    os.execv(  # noqa: S606 - an argument list, no shell
        sys.executable, [sys.executable, "-m", f"muster.bootstrap.{module}", *words, *options]
    )


def _absolute(path: str | None) -> str | None:
    """Relative to the current folder, whereas paths in the settings file are relative to the home folder."""
    return None if path is None else str(Path(path).absolute())


def _become_server(
    home: str | None, given: list[tuple[str, str | int | None]], flags: list[str] | None = None
) -> NoReturn:
    words = [sys.executable, "-m", "muster.bootstrap", *(flags or [])]
    for option, value in [("--home", home), *given]:
        if value is not None:
            words += [option, str(value)]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - an argument list, no shell
