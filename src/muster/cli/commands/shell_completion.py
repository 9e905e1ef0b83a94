"""`muster completion`, which prints scripts for shell completion."""

import click
from click.shell_completion import get_completion_class

_REPLY = "COMPREPLY+=($value)"
_NO_SPACE = f"{_REPLY}\n            [[ $value == *[/:] ]] && compopt -o nospace"
"""After a folder no space is added, so that typing can continue."""
_WHOLE_WORDS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
"""Makes bash treat `lab:data` as one word."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell. Job names are completed from the server.

    \b
    Examples:
      eval "$(muster completion bash)"                             # now
      echo 'eval "$(muster completion bash)"' >> ~/.bashrc         # always
      eval "$(muster completion zsh)"
      muster completion fish > ~/.config/fish/completions/muster.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "muster", "_MUSTER_COMPLETE")
    text = script.source_template % script.source_vars()
    click.echo(_WHOLE_WORDS + text.replace(_REPLY, _NO_SPACE) if shell == "bash" else text)
