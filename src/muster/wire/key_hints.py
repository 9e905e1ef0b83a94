"""Says which key of a job file somebody meant who wrote one that there is not: a misspelt one, one that belongs a level
further in, or the word of another system."""

from collections.abc import Sequence

from muster.lib.nearest import nearest
from muster.wire.documents import Path

_OF_A_ROLE = {
    "args": "command",
    "cmd": "command",
    "cmds": "command",
    "commands": "command",
    "entrypoint": "command",
    "run": "command",
    "script": "command",
    "copies": "replicas",
    "instances": "replicas",
    "nodes": "replicas",
    "numnodes": "replicas",
    "numworkers": "replicas",
    "parallelism": "replicas",
    "workers": "replicas",
    "minreplicas": "min",
    "maxreplicas": "max",
    "accelerator": "resources.gpu",
    "accelerators": "resources.gpu",
    "gpu": "resources.gpu",
    "gpus": "resources.gpu",
    "numgpus": "resources.gpu",
    "gpumodel": "resources.gpuType",
    "gputype": "resources.gpuType",
    "cores": "resources.cpu",
    "cpu": "resources.cpu",
    "cpus": "resources.cpu",
    "mem": "resources.memory",
    "memory": "resources.memory",
    "ram": "resources.memory",
    "devices": "resources.devices",
    "limits": "resources",
    "requests": "resources",
}
_OF_A_JOB = {
    "conda": "runtime.conda",
    "container": "runtime.image",
    "docker": "runtime.image",
    "dockerimage": "runtime.image",
    "image": "runtime.image",
    "imageid": "runtime.image",
    "imagepullsecret": "runtime.pullSecret",
    "imagepullsecrets": "runtime.pullSecret",
    "pullsecret": "runtime.pullSecret",
    "storage": "mounts",
    "storages": "mounts",
    "venv": "runtime.venv",
    "virtualenv": "runtime.venv",
    "code": "package",
    "workdir": "package",
    "workingdir": "package",
    "workspacedir": "package",
    "environment": "env",
    "envs": "env",
    "envvars": "env",
    "hyperparameters": "params",
    "parameters": "params",
    "volumes": "mounts",
    "filemounts": "mounts",
    "artifacts": "outputs",
    "activedeadlineseconds": "timeLimit",
    "deadline": "timeLimit",
    "maxduration": "timeLimit",
    "maxruntime": "timeLimit",
    "time": "timeLimit",
    "timeout": "timeLimit",
    "walltime": "timeLimit",
    "backofflimit": "retry.max",
    "maxretries": "retry.max",
    "maxrestarts": "retry.max",
    "retries": "retry.max",
    "dependencies": "after",
    "dependency": "after",
    "dependson": "after",
    "needs": "after",
    "partition": "cluster",
    "pool": "cluster",
    "queue": "cluster",
    "virtualcluster": "cluster",
    "vc": "cluster",
    "nodeselector": "where",
    "priorityclassname": "priority",
    "jobname": "name",
    "taskroles": "roles",
    "tasks": "roles",
}
_OF_RESOURCES = {
    "accelerator": "gpu",
    "accelerators": "gpu",
    "cores": "cpu",
    "cpus": "cpu",
    "gpus": "gpu",
    "gpumodel": "gpuType",
    "mem": "memory",
    "memorymb": "memory",
    "ram": "memory",
    "nvidiacomgpu": "gpu",
}


def meant(path: Path, known: Sequence[str]) -> str | None:
    """The key that was probably meant by `path`, which is unknown; None if nothing suggests one."""
    word = "".join(letter for letter in str(path[-1]).lower() if letter.isalnum())
    for key in known:
        if key.lower() == word:
            return key
    return _brought_along(path, word) or nearest(str(path[-1]), known, cutoff=0.65)


def _brought_along(path: Path, word: str) -> str | None:
    match path:
        case (_,):
            return _OF_A_ROLE.get(word) or _OF_A_JOB.get(word)
        case ("roles", _, _):
            return _OF_A_ROLE.get(word)
        case (*_, "resources", _):
            return _OF_RESOURCES.get(word)
        case _:
            return None
