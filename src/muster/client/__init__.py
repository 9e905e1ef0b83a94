"""The Python client: typed access to everything that the platform can do, over HTTP.

    from muster import Client, Job, Role

    job = Client().submit(Job(name="mnist", command=["python", "train.py"], replicas=2))
    job.wait()

The connection, requests (`Job`, `Role`), results (`JobView` …), and packing and uploading of folders belong here.
Printing, prompts and server code do not. Importing this package imports only the standard library.
"""

from muster.client.client import Client
from muster.client.errors import MusterError, Problem
from muster.client.handles import JobHandle, LogChunk
from muster.client.specs import Job, Role
from muster.client.views import (
    ClusterView,
    EventView,
    ExplanationView,
    JobView,
    NodeView,
    TaskView,
    TokenView,
    UserView,
)

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
