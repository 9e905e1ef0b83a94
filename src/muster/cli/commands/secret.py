"""`muster secret`, which stores secrets."""

import sys
from pathlib import Path

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_secrets


@click.group(cls=Group)
def command() -> None:
    """Store secrets, such as API keys, that your jobs get by name.

    A secret is encrypted, belongs to you, and cannot be read back: neither by you nor by an admin. A job gets it as a
    variable or as a file, and it is masked in the job's log.

    \b
    Examples:
      muster secret set wandb
      muster get secrets
      muster delete secret/wandb

    \b
    In a job file:
      secrets:
        - {name: wandb, env: WANDB_API_KEY}       # the value in a variable
        - {name: deploy-key, file: id_ed25519}    # the value in $MUSTER_SECRETS/id_ed25519
    """


@command.command("set", context_settings={"allow_extra_args": True})
@click.argument("name", shell_complete=complete_secrets)
@click.option(
    "--from-file", type=click.Path(dir_okay=False, exists=True), help="Take the bytes of this file, as they are."
)
@click.pass_context
def set_secret(ctx: click.Context, name: str, from_file: str | None) -> None:
    """Store a secret, or replace its value. Running jobs keep the value that they started with.

    The command asks for the value, or reads it from standard input if that is not a terminal. The newline at the end of
    a single line is left out. A value is never an argument, because everybody on the machine can see arguments.

    \b
    Examples:
      muster secret set wandb
      pass show wandb | muster secret set wandb
      muster secret set deploy-key --from-file ~/.ssh/deploy_key
    """
    if ctx.args:
        raise click.UsageError("a value is never an argument: type it when asked, pipe it, or read it with --from-file")
    secret = connect().set_secret(name, _value(name, from_file))
    say(f"stored secret {secret.name} ({secret.size_bytes} bytes, {secret.kind})")


def _value(name: str, from_file: str | None) -> bytes:
    if from_file is not None:
        return Path(from_file).read_bytes()
    if sys.stdin.isatty():
        prompt = f"Value of {name}"
        return str(click.prompt(prompt, hide_input=True, confirmation_prompt=True, err=True)).encode()
    value = sys.stdin.buffer.read()
    is_single_line = value.count(b"\n") == 1 and value.endswith(b"\n")
    return value.rstrip(b"\r\n") if is_single_line else value
