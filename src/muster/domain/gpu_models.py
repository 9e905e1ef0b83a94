"""Says which GPU models a cluster has to somebody who asked for one that it does not have."""

import re
from collections.abc import Collection, Iterable

_SHOWN = 20
"""A cluster has a few models; a longer list would help nobody."""
_WORD = re.compile(r"(?:rtx|gtx)(?=\d)|[a-z0-9]+")
_VARIANT = re.compile(r"nvidia|tesla|geforce|quadro|rtx|gtx|amd|instinct|radeon|sxm\d*|pcie|nvl|oam")
_MEMORY = re.compile(r"\d+gi?b?")
_READ_ALIKE = str.maketrans("oil", "011")


def has_none_of(wanted: Iterable[str], known: Iterable[str]) -> bool:
    """Whether models were named and the cluster has none of them. Upper and lower case are the same."""
    asked, there = {model.lower() for model in wanted}, {model.lower() for model in known}
    return bool(asked) and not asked & there


def models_there(known: Collection[str]) -> str:
    """What a cluster has, in words that follow its name."""
    shown = sorted(known)[:_SHOWN]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"has {', '.join(shown)}{more}" if shown else "has no GPUs"


def advice(wanted: Iterable[str], known: Collection[str]) -> str:
    if not known:
        return "name another cluster, or ask for no GPU"
    guess = next((other for model in wanted for other in sorted(known) if _is_the_same(model, other)), None)
    return f"did you mean {guess}?" if guess else "ask for one of these models, or leave gpuType out"


def _is_the_same(one: str, other: str) -> bool:
    """Whether two names are written differently for the same model, such as A100 and NVIDIA A100-SXM4-80GB. Names that
    only resemble each other are no typos: H100 and A100 are different models."""
    (parts, memory), (other_parts, other_memory) = _parts(one), _parts(other)
    return bool(parts) and parts == other_parts and (not memory or not other_memory or memory == other_memory)


def _parts(model: str) -> tuple[str, list[str]]:
    """What makes it this model, and how much memory the name says it has."""
    words = [word for word in _WORD.findall(model.lower()) if not _VARIANT.fullmatch(word)]
    memory = [word.rstrip("bi") for word in words if _MEMORY.fullmatch(word)]
    return "".join(word for word in words if not _MEMORY.fullmatch(word)).translate(_READ_ALIKE), memory
