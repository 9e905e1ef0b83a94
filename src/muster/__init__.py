"""Muster: one front door to every machine that can train a model.

`from muster import Client, Job, Role` is the Python interface. Importing `muster` itself costs nothing: the names
are looked up on first use, because the command line and the node agent start through this module too.
"""

from typing import TYPE_CHECKING, Any

from muster.version import __version__

if TYPE_CHECKING:
    from muster.client import Client, Job, JobHandle, MusterError, Role

__all__ = ["Client", "Job", "JobHandle", "MusterError", "Role", "__version__"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    import muster.client as client

    return getattr(client, name)
