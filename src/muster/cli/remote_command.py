"""Commands of ours that run another command elsewhere, whose words stand after `--`."""

import click

_WORDS = "muster.remote.words"


class RemoteCommand(click.Command):
    """A click command that takes everything after `--` as the remote command, even if it looks like an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            place = args.index("--")
            ctx.meta[_WORDS] = args[place + 1 :]
            args = args[:place]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "--", "COMMAND..."]


def remote_words(ctx: click.Context) -> list[str]:
    return list(ctx.meta.get(_WORDS) or ())
