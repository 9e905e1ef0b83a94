"""The option `--gpu`: a number of GPUs, a model, or both, as `A100:2`."""

import re
from dataclasses import dataclass

import click

from muster.cli.option_types import Parsed
from muster.lib.quantities import gpu_number, parse_gpu

_MODEL = re.compile(r"(?=.*\d)[A-Za-z].*")
"""All models have a number in their name, so a word without one is a mistake."""


@dataclass(frozen=True, slots=True)
class GpuWish:
    """`count` is None if only a model was named, which means one GPU."""

    count: float | None = None
    model: str | None = None


def parse_gpus(text: str) -> GpuWish:
    """Parses `2`, `0.5`, `A100`, `A100:2` or `A100:0.5`."""
    model, _, count = text.strip().rpartition(":")
    if not model and _MODEL.fullmatch(count):
        return GpuWish(None, count)
    try:
        return GpuWish(gpu_number(parse_gpu(count)), model or None)
    except ValueError as error:
        if model and _MODEL.fullmatch(count):
            raise ValueError(f"expected the model before the number, as MODEL:N: {count}:{model}") from None
        raise ValueError(f"{error}; a model goes before it, as MODEL:N such as A100:2") from None


def combined(wish: GpuWish | None, gpu_type: str | None) -> GpuWish:
    """What `--gpu` and `--gpu-type` mean together."""
    wish = wish or GpuWish()
    if wish.model and gpu_type and wish.model.lower() != gpu_type.lower():
        raise click.UsageError(f"--gpu asks for {wish.model} and --gpu-type for {gpu_type}; name one of them")
    return GpuWish(wish.count, wish.model or gpu_type)


GPUS = Parsed("gpus", parse_gpus)
