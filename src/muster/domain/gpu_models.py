"""Says which GPU models a cluster has to somebody who asked for one that it does not have."""

from collections.abc import Collection, Iterable

from muster.lib.nearest import nearest

_SHOWN = 20
"""A cluster has a few models; a longer list would help nobody."""


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
    guess = next((found for model in wanted if (found := nearest(model, known))), None)
    return f"did you mean {guess}?" if guess else "ask for one of these models, or leave gpuType out"
