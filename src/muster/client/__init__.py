"""The Python client: everything the platform can do, over HTTP, typed, with the standard library alone.

    from muster import Client, Job, Role

    job = Client().submit(Job(name="mnist", command=["python", "train.py"], replicas=2))
    job.wait()

Belongs here: the connection, what is asked (`Job`, `Role`), what comes back (`JobView` …), packing and uploading a
folder. Does not belong here: printing, prompts, anything of the server. Importing this costs no third-party package.
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
