"""The click type of paths on clusters, with completion from the files there."""

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.files import RemotePath

_COMPLETION_TIMEOUT_S = 1.5
_OFFERED = 200


class RemotePathType(click.ParamType[Any]):
    """With `is_cluster_enough`, the path may be empty, which means all folders of the cluster."""

    name = "path"

    def __init__(self, *, is_cluster_enough: bool = False) -> None:
        self._is_cluster_enough = is_cluster_enough

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "RemotePath":
        from muster.client.errors import MusterError
        from muster.client.files import RemotePath

        if isinstance(value, RemotePath):
            return value
        try:
            path = RemotePath.parse(value)
        except MusterError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)
        if not path.path and not self._is_cluster_enough:
            self.fail(f"{value} does not name a folder; `muster fs ls {value}` lists them", param, ctx)
        return path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_remote(ctx, incomplete)


def complete_remote(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Completes a path on a cluster. It must be quick, or offer nothing, because the user is waiting."""
    from muster.client.client import Client
    from muster.client.errors import MusterError
    from muster.client.transport import Timeouts

    chosen = ctx.find_root().params
    timeouts = Timeouts(_COMPLETION_TIMEOUT_S, _COMPLETION_TIMEOUT_S)
    try:
        client = Client(chosen.get("server"), context=chosen.get("context"), timeouts=timeouts)
        found = _offers(client, incomplete)
    except (MusterError, OSError):
        return []
    return [CompletionItem(text, help=about) for text, about in found if text.startswith(incomplete)]


def complete_either(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Completes local files, or files on a cluster after a colon."""
    return complete_remote(ctx, incomplete) if ":" in incomplete else [CompletionItem(incomplete, type="file")]


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
