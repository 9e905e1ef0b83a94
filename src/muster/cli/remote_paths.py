"""Paths on clusters as arguments: read, and completed with tab from what is there."""

import os
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.files import RemotePath

_COMPLETION_TIMEOUT_S = 1.5
_OFFERED = 200


class RemotePathType(click.ParamType[Any]):
    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "RemotePath":
        from muster.client.errors import MusterError
        from muster.client.files import RemotePath

        if isinstance(value, RemotePath):
            return value
        try:
            return RemotePath.parse(value)
        except MusterError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_remote(ctx, incomplete)


def complete_remote(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Quick or nothing, because somebody waits with a finger on the tab key."""
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    begun, typed = _begun(incomplete)
    chosen = ctx.find_root().params
    timeouts = Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S)
    try:
        client = Client(chosen.get("server"), context=chosen.get("context"), timeouts=timeouts)
        found = _offers(client, begun)
    except (MusterError, OSError):
        return []
    return [CompletionItem(text[typed:], help=about) for text, about in found if text.startswith(begun)]


def _offers(client: "Client", begun: str) -> list[tuple[str, str]]:
    from muster.client.files import RemotePath

    if ":" not in begun:
        return [(f"{cluster.name}:", cluster.state) for cluster in client.clusters()]
    where = RemotePath.parse(begun)
    above, slash, _ = where.path.rpartition("/")
    prefix = begun[: len(begun) - len(where.path)]
    if not slash:
        return [(f"{prefix}{folder.name}/", "folder") for folder in client.files.folders(where.cluster)]
    entries = client.files.page(RemotePath(where.cluster, above, where.node), _OFFERED)
    return [
        (f"{prefix}{above}/{entry.name}{'/' if entry.kind == 'folder' else ''}", entry.kind)
        for entry in entries
        if not entry.name.startswith(".")
    ]


def _begun(incomplete: str) -> tuple[str, int]:
    """What was typed of the path, and how much of it the shell keeps: bash takes a colon for the end of a word."""
    words, place = os.environ.get("COMP_WORDS", "").split(), os.environ.get("COMP_CWORD", "")
    if not place.isdigit() or ":" not in words:
        return incomplete, 0
    index = int(place)
    last = words[index] if index < len(words) else ""
    if last == ":" and index >= 1:
        return f"{words[index - 1]}:", len(words[index - 1]) + 1
    if index >= 2 and words[index - 1] == ":":
        return f"{words[index - 2]}:{last}", len(words[index - 2]) + 1
    return incomplete, 0
