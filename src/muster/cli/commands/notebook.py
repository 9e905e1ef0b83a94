"""`muster notebook`."""

import time

import click

from muster.cli.failures import Failure
from muster.cli.notebook_job import LABEL, NotebookOptions, notebook_spec
from muster.cli.option_types import CORES, DURATION, SIZE, Parsed
from muster.cli.runtime_option import runtime_of, runtime_options
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_destinations
from muster.cli.submitted_jobs import say_submitted
from muster.cli.terminal import echo
from muster.client.client import Client
from muster.client.errors import MusterError
from muster.client.handles import JobHandle
from muster.client.submitting import Changes, prepare
from muster.lib.quantities import gpu_number, parse_duration, parse_gpu

_GPU = Parsed("gpus", lambda text: gpu_number(parse_gpu(text)))
_DURATION = Parsed("duration", parse_duration)
_PROBE = b"GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n"
_LOOK_EVERY_S = 0.5
_SAY_AFTER_S = 5.0


@click.command()
@click.argument("folder", required=False, default="")
@click.option("-n", "--name", default="notebook", show_default=True, help="The name of the job.")
@click.option("-g", "--gpu", type=_GPU, metavar="GPUS", help="GPUs: 2, or 0.5 of one.")
@click.option("--gpu-type", metavar="MODEL", help="The GPU model, such as A100.")
@click.option("-c", "--cpu", type=CORES, metavar="CORES", help="CPU: 2, 0.5, 500m.")
@click.option("-m", "--memory", type=SIZE, metavar="SIZE", help="Memory: 512Mi, 8Gi.")
@runtime_options
@click.option("--cluster", metavar="NAME", help="The cluster to run on.", shell_complete=complete_destinations)
@click.option(
    "--idle",
    type=_DURATION,
    default="1h",
    show_default=True,
    help="End the job after it has not been used for this time; 0 means never.",
)
@click.option("-t", "--time-limit", type=DURATION, metavar="DURATION", help="Stop the job after this time in any case.")
def command(
    folder: str,
    name: str,
    gpu: float | None,
    gpu_type: str | None,
    cpu: str | None,
    memory: str | None,
    image: str | None,
    conda: str | None,
    venv: str | None,
    cluster: str | None,
    idle: float,
    time_limit: str | None,
) -> None:
    """Run Jupyter as a job, and print a link to it.

    It is JupyterLab, or the classic notebook, whichever the environment of the job has. The link leads through the
    server and needs no password. Nobody else is let in, not even users of the same node. Called again while the
    notebook of that name runs, this prints another link to it.

    FOLDER is a folder on the node, such as one that all nodes share. Without it, notebooks lie in the folder of the
    job; those at its top are collected as outputs when it ends, and all else there is lost.

    The job ends as Succeeded when nobody has used it for --idle: no page was used, and no kernel was busy. `muster
    kill` ends it at once.

    \b
    Examples:
      muster notebook --gpu 1 --conda torch
      muster notebook --venv /opt/jupyter /shared/li/notebooks
      muster notebook -n explore --image quay.io/jupyter/base-notebook --idle 4h
    """
    runtime = runtime_of(image, conda, venv)
    client = connect()
    handle = _running(client, name)
    if handle is None:
        asked = NotebookOptions(
            name=name,
            folder=folder,
            idle_s=idle,
            gpu=gpu,
            gpu_type=gpu_type,
            cpu=cpu,
            memory=memory,
            cluster=cluster,
            runtime=runtime,
            time_limit=time_limit,
        )
        handle = client.send(prepare(notebook_spec(asked), Changes()))
        say_submitted(handle)
    else:
        say(f"job {handle.name} ({handle.id}) is there already")
    try:
        port = _ready(handle)
    except KeyboardInterrupt:
        say(f"\nthe job goes on; `muster notebook -n {name}` prints the link, `muster kill {name}` ends it")
        raise click.exceptions.Exit(130) from None
    echo(handle.page_link(port))
    say(f"This link is good once, for five minutes. Another: muster notebook -n {name}. To end it: muster kill {name}")


def _running(client: Client, name: str) -> JobHandle | None:
    """The notebook of this name that has not ended, if there is one."""
    found = [job for job in client.jobs(owner="me", name=name, limit=1) if not job.ended]
    if not found:
        return None
    if LABEL not in (found[0].raw.get("labels") or {}):
        raise Failure(f"your job {name} is no notebook", hint="choose another name with -n")
    return client.job(found[0].id)


def _ready(handle: JobHandle) -> int:
    """The port, once Jupyter answers there."""
    said, since = "", time.monotonic()
    while True:
        view = handle.refresh().view
        if view.ended:
            log = "".join(chunk.text for chunk in handle.logs())[-2000:].strip()
            raise Failure(f"the notebook has ended before it was ready: {view.state}", hint=log or view.reason)
        tasks = handle.tasks()
        ports = tasks[0].raw.get("ports") if tasks and tasks[0].state == "Running" else None
        if ports and _answers(handle, int(ports[0])):
            return int(ports[0])
        why = view.reason or f"{view.state}: Jupyter starts" if view.state == "Running" else view.reason or view.state
        if why != said and time.monotonic() - since > _SAY_AFTER_S:
            said = why
            say(f"  {why}")
        time.sleep(_LOOK_EVERY_S)


def _answers(handle: JobHandle, port: int) -> bool:
    try:
        with handle.connection(port) as connection:
            return connection.ask(_PROBE).startswith(b"HTTP/")
    except MusterError as error:
        if error.code in ("conflict", "unreachable", "unavailable"):
            return False
        raise
