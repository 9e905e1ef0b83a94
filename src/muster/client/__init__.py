"""The Python client: typed access to everything that the platform can do, over HTTP.

    from muster import Client, Job, Role

    job = Client().submit(Job(name="mnist", command=["python", "train.py"], replicas=2))
    job.wait()

The connection, requests (`Job`, `Role`), results (`JobView` …), and packing and uploading of folders belong here.
Printing, prompts and server code do not. Only the standard library is needed. The names are looked up on first use, so
that a command that needs one module of this package does not import the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.client.account_views import TokenView, UserView
    from muster.client.client import Client
    from muster.client.errors import MusterError, Problem
    from muster.client.handles import JobHandle, LogChunk
    from muster.client.node_views import ClusterView, NodeView
    from muster.client.specs import Job, Role
    from muster.client.views import EventView, ExplanationView, JobView, TaskView

__all__ = [
    "Client",
    "ClusterView",
    "EventView",
    "ExplanationView",
    "Job",
    "JobHandle",
    "JobView",
    "LogChunk",
    "MusterError",
    "NodeView",
    "Problem",
    "Role",
    "TaskView",
    "TokenView",
    "UserView",
]
_MODULES = {
    "Client": "client",
    "ClusterView": "node_views",
    "Job": "specs",
    "JobHandle": "handles",
    "LogChunk": "handles",
    "MusterError": "errors",
    "Problem": "errors",
    "NodeView": "node_views",
    "Role": "specs",
    "TokenView": "account_views",
    "UserView": "account_views",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'muster.client' has no attribute {name!r}")
    return getattr(import_module(f"muster.client.{_MODULES.get(name, 'views')}"), name)
