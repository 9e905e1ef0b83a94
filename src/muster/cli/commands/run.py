"""`muster run`, which runs a command as a job without a job file."""

import os
from pathlib import Path
from typing import IO

import click

from muster.cli.adhoc_job import RunOptions, as_job, folder_to_send
from muster.cli.attaching import require_terminal, work_at
from muster.cli.detach_keys import detach_keys_option
from muster.cli.dry_run import print_dry_run
from muster.cli.gpu_option import GPUS, GpuWish, combined
from muster.cli.job_following import exit_with_outcome, follow
from muster.cli.key_values import (
    parse_assignments,
    parse_devices,
    parse_secrets,
    parse_texts,
    parse_variables,
    read_env_file,
)
from muster.cli.option_types import CORES, DURATION, SIZE
from muster.cli.package_option import PackageType
from muster.cli.runtime_option import runtime_of, runtime_options
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_destinations, output_option
from muster.cli.submitted_jobs import say_submitted
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.submitting import Changes, prepare

_FRAMEWORKS = ("paddle", "torch", "tensorflow", "mpi", "jax", "plain", "none")


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-w", "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="The number of workers."
)
@click.option(
    "--ps", type=click.IntRange(min=0), default=0, help="The number of parameter servers, which run the same command."
)
@click.option("-g", "--gpu", type=GPUS, metavar="GPUS", help="GPUs for each worker: 2, 0.5 of one, A100, A100:2.")
@click.option("--gpu-type", metavar="MODEL", help="The GPU model, such as A100; one GPU if --gpu is absent.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="RESOURCE=COUNT",
    help="Other devices for each worker: xilinx.com/fpga=1; repeatable.",
)
@click.option("-c", "--cpu", type=CORES, metavar="CORES", help="CPU for each task: 2, 0.5, 500m.")
@click.option("-m", "--memory", type=SIZE, metavar="SIZE", help="Memory for each task: 512Mi, 8Gi.")
@click.option("-n", "--name", help="The name of the job; derived from the command if absent.")
@click.option(
    "--framework",
    type=click.Choice(_FRAMEWORKS),
    help="The framework whose variables the tasks get.",
)
@click.option(
    "--cluster", metavar="NAME", help="The cluster or virtual cluster to run on.", shell_complete=complete_destinations
)
@click.option("--priority", type=click.Choice(["low", "normal", "high", "urgent"]), help="The priority of the job.")
@click.option(
    "-e",
    "--env",
    "env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="An environment variable for all tasks, with your own value if none is given; repeatable.",
)
@click.option(
    "--env-file", multiple=True, type=click.File("r"), help="A file with NAME=VALUE or NAME lines; repeatable."
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME=VARIABLE",
    help="A secret (`muster secret set NAME`) in a variable; repeatable.",
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, which is kept in the history; repeatable.",
)
@click.option("-l", "--label", "labels", multiple=True, metavar="K=V", help="A label; repeatable.")
@click.option(
    "--package",
    metavar="DIR",
    type=PackageType(exists=True, file_okay=False),
    help="The folder to send, or CLUSTER:FOLDER/PATH, which lies there already.",
)
@click.option("--no-package", is_flag=True, help="Send no folder.")
@click.option(
    "--input", "inputs", multiple=True, metavar="PATH[:TARGET]", help="A file or folder that tasks read; repeatable."
)
@click.option(
    "--outputs", multiple=True, metavar="PATH", help="Files to collect afterwards, such as model/; repeatable."
)
@runtime_options
@click.option(
    "--setup", metavar="COMMAND", help="A command that prepares each node once, such as 'pip install -r needs.txt'."
)
@click.option("--time-limit", type=DURATION, metavar="DURATION", help="Stop the job after this time: 90m, 2h.")
@click.option("--retries", type=click.IntRange(min=0), help="How often to retry the job if it fails.")
@click.option("--dry-run", is_flag=True, help="Show what would be started, but start nothing.")
@click.option("-d", "--detach", is_flag=True, help="Return at once instead of following the logs.")
@click.option("-i", "--stdin", is_flag=True, help="Pass standard input to the command of the first worker.")
@click.option("-t", "--tty", is_flag=True, help="Run the command at a terminal, with the keys that you type.")
@detach_keys_option
@output_option("json", "yaml", "name", default="name")
def command(
    words: tuple[str, ...],
    workers: int,
    ps: int,
    gpu: GpuWish | None,
    gpu_type: str | None,
    devices: tuple[str, ...],
    cpu: str | None,
    memory: str | None,
    name: str | None,
    framework: str | None,
    cluster: str | None,
    priority: str | None,
    env: tuple[str, ...],
    env_file: tuple[IO[str], ...],
    secrets: tuple[str, ...],
    params: tuple[str, ...],
    labels: tuple[str, ...],
    package: str | None,
    no_package: bool,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    image: str | None,
    conda: str | None,
    venv: str | None,
    setup: str | None,
    time_limit: str | None,
    retries: int | None,
    dry_run: bool,
    detach: bool,
    stdin: bool,
    tty: bool,
    detach_keys: bytes,
    output: str,
) -> None:
    """Run a command as a job and follow its logs. The exit code is 0 if the job succeeded, else 1.

    The current folder is sent too and becomes the working directory of every task. Ctrl-C detaches; the job continues.

    With -it you work at the command as if it ran here, and with -i alone it reads what is piped in. The exit code is
    then that of the command. Ctrl-C before it has started cancels the job. The detach keys leave it running, and so
    does a lost connection; `muster attach` comes back.

    \b
    Examples:
      muster run -- python train.py --epochs 3
      muster run --workers 2 --gpu 1 -- python train.py
      muster run --workers 2 --gpu A100:4 -- torchrun train.py
      muster run --device xilinx.com/fpga=1 -- ./emulate
      muster run --workers 2 --ps 2 --framework paddle -- python train.py
      muster run --input ~/data/mnist:data --outputs model/ -- python train.py
      muster run -e EPOCHS=3 -e HF_HOME -- python train.py
      muster run --gpu 1 --image pytorch/pytorch -- python train.py
      muster run --setup 'pip install -r requirements.txt' -- python train.py
      muster run --secret wandb=WANDB_API_KEY -- python train.py
      muster run --no-package -d --name nightly -- /opt/jobs/nightly.sh
      muster run -- 'echo $MUSTER_RANK of $MUSTER_WORLD_SIZE'
      muster run -it --gpu 1 -- python
      echo 'print(1)' | muster run -i -- python -
    """
    if tty:
        require_terminal(words)
    if package and no_package:
        raise click.UsageError("--package and --no-package cannot be used together")
    variables: dict[str, str] = {}
    for file in env_file:
        variables |= read_env_file(file.read(), str(file.name), os.environ)
    variables |= parse_variables(env, os.environ)
    gpus = combined(gpu, gpu_type)
    if tty:
        variables = {"TERM": os.environ.get("TERM") or "xterm", **variables}
    job = as_job(
        RunOptions(
            words=words,
            name=name,
            workers=workers,
            ps=ps,
            cpu=cpu,
            memory=memory,
            gpu=gpus.count,
            gpu_type=gpus.model,
            devices=parse_devices(devices),
            framework=framework,
            cluster=cluster,
            priority=priority,
            env=variables,
            secrets=parse_secrets(secrets),
            params=parse_assignments(params, "--param"),
            labels=parse_texts(labels, "--label"),
            package=None if no_package else folder_to_send(package, Path.cwd(), Path.home(), say),
            inputs=inputs,
            outputs=outputs,
            runtime=runtime_of(image, conda, venv),
            setup=setup,
            time_limit=time_limit,
            retries=retries,
            stdin=stdin or tty,
            tty=tty,
        )
    )
    submission = prepare(job, Changes())
    client = connect()
    if dry_run:
        print_dry_run(client.dry_run(submission), output)
        return
    with upload_progress() as progress:
        handle = client.send(submission, progress=progress, announce=announce_packing)
    say_submitted(handle)
    if detach:
        if handle.view.reason:
            say(f"  {handle.state}: {handle.view.reason}")
        if output == "name":
            echo(handle.name)
        else:
            print_document(handle.view.raw, output)
        verb = "attach" if stdin or tty else "logs -f"
        say(f"  muster {verb} {handle.name}    follow its output")
        return
    if stdin or tty:
        work_at(handle, detach_keys)
    ended = follow(handle)
    if output != "name":
        print_document(ended.raw, output)
    exit_with_outcome(ended)
