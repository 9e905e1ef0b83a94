"""Muster: one front door to every machine that can train a model.

`from muster import Client, Job, Role` is the Python interface. In a job, `muster.log` reports metrics, and
`muster.allow_stacks` lets the process be asked where it stands. Importing `muster` itself costs nothing: the names are
looked up on first use, because the command line and the node agent start through this module too.
"""

from typing import TYPE_CHECKING, Any

from muster.version import __version__

if TYPE_CHECKING:
    from muster.agent.tasks.metric_writer import allow_stacks, log
    from muster.client import Client, Job, JobHandle, MusterError, Role

__all__ = ["Client", "Job", "JobHandle", "MusterError", "Role", "__version__", "allow_stacks", "log"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    if name in ("allow_stacks", "log"):
        from muster.agent.tasks import metric_writer

        return getattr(metric_writer, name)
    import muster.client as client

    return getattr(client, name)
