"""The type of an option that names a package."""

from typing import Any

import click

from muster.client.submitting import is_on_cluster


class PackageType(click.Path):
    """A folder here, or a package that lies on a cluster."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, str) and is_on_cluster(value) else super().convert(value, param, ctx)
