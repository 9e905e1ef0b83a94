"""Pictures as files: SVG as it is, and PNG, or an error that says what to do instead."""

from pathlib import Path

import click

from muster.cli.failures import Failure
from muster.cli.session import say
from muster.pictures.rasterising import NoPng, png_of


def require_picture_name(path: Path) -> None:
    if path.suffix not in (".svg", ".png"):
        raise click.UsageError(f"--picture {path}: expected a name that ends in .svg or .png")


def save_picture(path: Path, svg: str, width: int, height: int) -> None:
    if path.suffix == ".png":
        path.write_bytes(png_or_failure(svg, width, height))
    else:
        path.write_text(svg, encoding="utf-8")
    say(f"saved the picture to {path}")


def png_or_failure(svg: str, width: int, height: int) -> bytes:
    try:
        return png_of(svg, width, height)
    except NoPng as error:
        hint = "name the picture .svg; every browser shows it"
        raise Failure(f"no PNG could be made: {error}", hint=hint) from error
