"""Finds the parts of a spec that a Slurm cluster does not support, and suggests alternatives."""

from collections.abc import Iterator

from muster.backends.slurm.options import SubmitSettings, slurm_options
from muster.backends.slurm.script.constraints import constraint_problem
from muster.backends.slurm.script.option_values import is_feature, is_gpu_model, is_node
from muster.backends.slurm.script.sbatch_options import GpuTypes, feature, job_constraint
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.domain.needs import folder_name
from muster.domain.resources import Resources
from muster.domain.specs import JobSpec, Mount, Together, Where
from muster.domain.unknown_folders import unknown_folder

_SHOWN = 80


def cannot_honour(spec: JobSpec, cluster: PhysicalCluster) -> Iterator[Problem]:
    if spec.runtime.image:
        message = f"tasks on {cluster.name} run without containers"
        yield Problem(
            "runtime.image", message, "use runtime.venv or runtime.conda, or run the container in the command"
        )
    for index, mount in enumerate(spec.mounts):
        yield from _mount(f"mounts[{index}]", mount, cluster)
    if spec.package_place is not None:
        yield from _folder("package", spec.package_place.path, cluster)
    if spec.runtime.conda and "/" not in spec.runtime.conda and cluster.conda_root is None:
        message = f"cluster {cluster.name} names no conda installation"
        yield Problem("runtime.conda", message, "give the environment's folder, or have an admin write `conda`")
    if spec.where.nodes:
        hint = "Slurm chooses nodes: use where.labels for features of nodes, or where.notNodes"
        yield Problem("where.nodes", f"cluster {cluster.name} cannot be asked for any of several nodes", hint)
    if spec.where.together in (Together.RACK, Together.SWITCH):
        message = f"cluster {cluster.name} does not know which nodes share a {spec.where.together}"
        yield Problem("where.together", message, "leave it out, or write --switches in the cluster file")
    options = slurm_options(cluster)
    yield from _where(spec.where)
    settings, gpu_types = options.submit_settings(spec.cluster or cluster.name), GpuTypes(options)
    yield from _features(spec, settings)
    for role in spec.roles:
        yield from _role(f"roles.{role.name}", role.stdin, role.resources.shares_gpu, bool(role.resources.extended))
        gpu_type = f"roles.{role.name}.resources.gpuType"
        yield from _gpu_models(gpu_type, role.resources, gpu_types)
        yield from _gpu_feature(gpu_type, spec, settings, gpu_types.feature_of(role.resources))


def _where(where: Where) -> Iterator[Problem]:
    for name in where.not_nodes:
        if not is_node(name):
            hint = "write each node by itself, by its name of letters, digits, '.', '_' and '-'"
            yield Problem("where.notNodes", f"{_quoted(name)} is not the name of a node", hint)
    for key, value in where.labels.items():
        if not is_feature(feature(key, value)):
            message = f"{_quoted(feature(key, value))} cannot be a feature of a node in Slurm"
            hint = "write each feature by itself, as a key with the value '*' or as KEY: VALUE, both of letters,"
            yield Problem("where.labels", message, f"{hint} digits, '.', '_', ':', '/' and '-'")


def _features(spec: JobSpec, settings: SubmitSettings) -> Iterator[Problem]:
    """Slurm has no nested parentheses, and no counts inside of them."""
    labels = spec.where.labels
    if settings.constraint and labels and all(is_feature(feature(*label)) for label in labels.items()):
        both = job_constraint(spec, settings)
        if constraint_problem(both):
            message = f"Slurm takes no features beside the cluster's own constraint {settings.constraint}"
            yield Problem("where.labels", message, "leave them out, or choose another virtual cluster")


def _gpu_models(path: str, asked: Resources, gpu_types: GpuTypes) -> Iterator[Problem]:
    for model in asked.gpu_models:
        if not is_gpu_model(model) and not gpu_types.is_known(model):
            hint = "`muster get nodes` shows the models that there are"
            yield Problem(path, f"{_quoted(model)} is not the name of a GPU model", hint)


def _gpu_feature(path: str, spec: JobSpec, settings: SubmitSettings, gpu_feature: str) -> Iterator[Problem]:
    if gpu_feature and settings.constraint and constraint_problem(job_constraint(spec, settings, gpu_feature)):
        message = f"Slurm takes no feature of GPUs beside the cluster's own constraint {settings.constraint}"
        yield Problem(path, message, "leave it out, or choose another virtual cluster")


def _quoted(value: str) -> str:
    return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")


def _role(path: str, stdin: bool, shares_gpu: bool, extended: bool) -> Iterator[Problem]:
    if stdin:
        yield Problem(f"{path}.stdin", "tasks on Slurm have no standard input", "leave it out")
    if shares_gpu:
        yield Problem(f"{path}.resources.gpu", "Slurm hands out whole GPUs", "ask for a whole one")
    if extended:
        yield Problem(f"{path}.resources", "devices other than GPUs cannot be asked for here", "leave them out")


def _mount(path: str, mount: Mount, cluster: PhysicalCluster) -> Iterator[Problem]:
    yield from _folder(f"{path}.{mount.source_key}", mount.source, cluster)
    if mount.target.startswith("/"):
        message = f"{mount.target} is absolute, and without a container nothing can be mounted there"
        yield Problem(f"{path}.target", message, "write a relative target, which becomes a link")
    elif any(part in ("", ".", "..") for part in mount.target.split("/")):
        yield Problem(
            f"{path}.target", f"{mount.target!r} is not a path in the working directory", "such as data/train"
        )


def _folder(path: str, value: str, cluster: PhysicalCluster) -> Iterator[Problem]:
    if ".." in value.split("/"):
        yield Problem(path, f"{value!r} leads out of its folder by `..`", "write the path without it")
    elif not value.startswith("/") and folder_name(value, cluster) is None:
        yield unknown_folder(path, value, cluster)
