"""The cyclic garbage collector, set for a long-lived process with very many objects that are in no cycle."""

import gc

_YOUNG = 50_000
"""Objects between two looks at the young ones: the default of 700 costs a quarter of a busy scheduler's time."""


def settle_collector() -> None:
    """What is there now stays; the rest is looked at less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 20, 50)
