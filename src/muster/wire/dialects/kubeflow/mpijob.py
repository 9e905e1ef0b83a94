"""An MPIJob (`kubeflow.org/v1` and `v2beta1`) as a Muster spec.

The launcher runs `mpirun`, which starts its processes on the workers by ssh (`ssh: true`). The workers wait for them: a
worker that the file makes an ssh server, or for which it names no command, does nothing else. The job ends with its
launcher.
"""

import re
from typing import Any

from muster.domain.specs import Framework
from muster.launch.muster_variables import variable_name
from muster.wire.dialects.kubeflow import replica_specs
from muster.wire.dialects.kubeflow.replica_specs import KubeflowJob
from muster.wire.dialects.kubernetes.kube_metadata import recognizer
from muster.wire.dialects.kubernetes.pod_variables import Given
from muster.wire.dialects.kubernetes.task_scripts import IN_CONTAINER, WAIT, is_ssh_server, own_folder
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document, Path

KIND = "MPIJob"
STATES = replica_specs.STATES
recognizes = recognizer(KIND, replica_specs.VERSION, "kubeflow.org/v2beta1")

LAUNCHER, WORKER = "launcher", "worker"
_ROLE_VARIABLE = "K_MPI_JOB_ROLE"
_FOLDER = "/etc/mpi"
_OTHER_FILES = re.compile(rf"{_FOLDER}/(?!hostfile\b)[\w.-]+")
_HOSTFILE = '"$MUSTER_MPI_HOSTFILE"'
_KEYS = (
    *("slotsPerWorker", "sshAuthMountPath", "mpiImplementation", "mainContainer"),
    *("launcherCreationPolicy", "runLauncherAsWorker"),
)


def translate(document: Document) -> Translation:
    job = KubeflowJob(document, "mpiReplicaSpecs", (LAUNCHER, WORKER), Framework.NONE)
    into = job.into
    slots = job.spec.get("slotsPerWorker") or 1
    if not isinstance(slots, int) or slots < 1:
        into.refuse(("spec", "slotsPerWorker"), f"is {slots!r}", "a number of processes")
    flavour = _implementation(job)
    given = {
        LAUNCHER: Given(frozenset({_ROLE_VARIABLE, *flavour})),
        WORKER: Given(frozenset({_ROLE_VARIABLE})),
    }
    starts = {LAUNCHER: [_hostfile(job, slots), *(f"export {name}={word}" for name, word in flavour.items())]}
    job.roles(given, _KEYS, starts, otherwise={WORKER: WAIT})
    if is_ssh_server(job.first_container(WORKER)):
        into.put(("roles", WORKER, "command"), WAIT, (*job.place(WORKER), "template", "spec", "containers", 0))
    into.put(("ssh",), True, ("kind",))
    for kind in (LAUNCHER, WORKER):
        if job.has(kind):
            into.put(("roles", kind, "env", _ROLE_VARIABLE), kind, job.place(kind))
    if job.has(LAUNCHER):
        into.put(("roles", LAUNCHER, "minSucceeded"), 1, job.place(LAUNCHER))
        # The processes of a container are root's here, and Open MPI wants to be told that this is meant.
        for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
            into.put(("roles", LAUNCHER, "env", name), "1", job.place(LAUNCHER))
    else:
        into.refuse(job.at, "has no Launcher, which runs mpirun", "add one", settled_by=("roles", LAUNCHER))
    if job.spec.get("mainContainer") is not None:
        into.warn(("spec", "mainContainer"), "has no effect: Muster runs one container a task")
    if job.spec.get("launcherCreationPolicy") == "WaitForWorkersReady":
        into.warn(("spec", "launcherCreationPolicy"), "has no effect: all tasks start together")
    return into.translation()


def _implementation(job: KubeflowJob) -> dict[str, str]:
    """The variables by which an implementation finds the hosts. All of them read the hostfile that the launcher
    writes at its start."""
    slots = str(job.spec.get("slotsPerWorker") or 1)
    source: Path = ("spec", "mpiImplementation")
    match job.spec.get("mpiImplementation", "OpenMPI"):
        case "OpenMPI":
            return {
                "OMPI_MCA_orte_default_hostfile": _HOSTFILE,
                "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_set_default_slots": slots,
                "OMPI_MCA_plm_rsh_args": "'-o ConnectionAttempts=10'",
            }
        case "Intel":
            attempts = "'-o ConnectionAttempts=10'"
            return {
                "I_MPI_HYDRA_HOST_FILE": _HOSTFILE,
                "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": attempts,
                "I_MPI_PERHOST": slots,
            }
        case "MPICH":
            return {"HYDRA_HOST_FILE": _HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": "'-o ConnectionAttempts=10'"}
        case other:
            job.into.refuse(source, f"is {other!r}", "OpenMPI, Intel or MPICH")
            return {}


def _hostfile(job: KubeflowJob, slots: Any) -> str:
    """Lines that write the hostfile: where the original has it if the task has a container of its own, and
    else in the task's folder."""
    form = "%s slots=%s" if job.spec.get("mpiImplementation", "OpenMPI") == "OpenMPI" else "%s:%s"
    roles = ([LAUNCHER] if job.spec.get("runLauncherAsWorker") else []) + ([WORKER] if job.has(WORKER) else [])
    each = "; ".join(
        f"i=0; for h in $MUSTER_HOSTS_{variable_name(role)}; do"
        f" printf '{form}\\n' \"{role}-$i\" {slots}; i=$((i+1)); done"
        for role in roles
    )
    words = " ".join(str(word) for key in ("command", "args") for word in _words(job.first_container(LAUNCHER), key))
    other = _OTHER_FILES.search(words)
    if other is not None:
        source: Path = (*job.place(LAUNCHER), "template", "spec", "containers", 0, "command")
        message = f"reads {other[0]}, which the original's controller writes and Muster does not"
        hint = "give it another command: --set roles.launcher.command=..."
        job.into.refuse(source, message, hint, settled_by=("roles", LAUNCHER, "command"))
    refusal = f"echo 'muster: the command reads {_FOLDER}, which needs a container' >&2; exit 1; "
    elsewhere = f"{{ {refusal if _FOLDER in words else ''}{own_folder('_mpi')}; MUSTER_MPI_HOSTFILE=$_mpi/hostfile; }}"
    return "\n".join(
        (
            f"MUSTER_MPI_HOSTFILE={_FOLDER}/hostfile",
            f"{IN_CONTAINER} && mkdir -p {_FOLDER} && [ -w {_FOLDER} ] || {elsewhere}",
            f'(IFS=,; {each or ":"}) > "$MUSTER_MPI_HOSTFILE"',
        )
    )


def _words(container: dict[str, Any], key: str) -> list[Any]:
    words = container.get(key)
    return words if isinstance(words, list) else []
