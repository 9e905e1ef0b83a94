"""`muster run`: a job without a file."""

from pathlib import Path
from typing import IO

import click

from muster.cli.adhoc import Asked, as_job, folder_to_send
from muster.cli.assignments import parse_assignments, parse_texts, read_env_file
from muster.cli.following import exit_by, follow
from muster.cli.option_types import Parsed
from muster.cli.options import output_option
from muster.cli.output import print_document
from muster.cli.plans import print_plan
from muster.cli.session import connect, say
from muster.cli.uploads import announce_packing, shown_upload
from muster.client.submitting import Changes, prepare
from muster.lib.quantities import gpu_number, parse_gpu

_FRAMEWORKS = ("paddle", "torch", "tensorflow", "mpi", "jax", "plain")
_GPU = Parsed("gpus", lambda text: gpu_number(parse_gpu(text)))


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("-w", "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="How many workers.")
@click.option("--ps", type=click.IntRange(min=0), default=0, help="How many parameter servers (same command).")
@click.option("-g", "--gpu", type=_GPU, metavar="GPUS", help="GPUs for each worker: 2, or 0.5 of one.")
@click.option("--gpu-type", metavar="MODEL", help="Which GPUs, such as A100.")
@click.option("-c", "--cpu", metavar="CORES", help="CPU for each task: 2, 0.5, 500m.")
@click.option("-m", "--memory", metavar="SIZE", help="Memory for each task: 512Mi, 8Gi.")
@click.option("-n", "--name", help="The job's name; made from the command if absent.")
@click.option("--framework", type=click.Choice(_FRAMEWORKS), help="Whose variables the tasks get.")
@click.option("--cluster", metavar="NAME", help="Where to run it.")
@click.option("--priority", type=click.Choice(["low", "normal", "high", "urgent"]), help="How urgent it is.")
@click.option("-e", "--env", "env", multiple=True, metavar="K=V", help="A variable for all tasks; repeatable.")
@click.option("--env-file", multiple=True, type=click.File("r"), help="A file of K=V lines; repeatable.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter, kept in history.")
@click.option("-l", "--label", "labels", multiple=True, metavar="K=V", help="A label; repeatable.")
@click.option("--package", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="The folder to send.")
@click.option("--no-package", is_flag=True, help="Send no folder.")
@click.option("--input", "inputs", multiple=True, metavar="PATH[:TARGET]", help="Data that tasks read; repeatable.")
@click.option("--outputs", multiple=True, metavar="PATH", help="What to bring back, as model/; repeatable.")
@click.option("-t", "--time-limit", metavar="DURATION", help="Stop it after so long: 90m, 2h.")
@click.option("--retries", type=click.IntRange(min=0), help="Try again so often when it fails.")
@click.option("--dry-run", is_flag=True, help="Show what would be started; start nothing.")
@click.option("-d", "--detach", is_flag=True, help="Return at once instead of following the logs.")
@output_option("json", "yaml", "name", default="name")
def command(
    words: tuple[str, ...],
    workers: int,
    ps: int,
    gpu: float | None,
    gpu_type: str | None,
    cpu: str | None,
    memory: str | None,
    name: str | None,
    framework: str | None,
    cluster: str | None,
    priority: str | None,
    env: tuple[str, ...],
    env_file: tuple[IO[str], ...],
    params: tuple[str, ...],
    labels: tuple[str, ...],
    package: str | None,
    no_package: bool,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    time_limit: str | None,
    retries: int | None,
    dry_run: bool,
    detach: bool,
    output: str,
) -> None:
    """Run a command as a job, follow its logs and exit 0 if it succeeded, 1 if not.

    The current folder is sent along and becomes the working directory of every task. Ctrl-C detaches; the job goes on.

    \b
    Examples:
      muster run -- python train.py --epochs 3
      muster run --workers 2 --gpu 1 -- python train.py
      muster run --workers 2 --ps 2 --framework paddle -- python train.py
      muster run --input ~/data/mnist:data --outputs model/ -- python train.py
      muster run --no-package -d --name nightly -- /opt/jobs/nightly.sh
      muster run -- 'echo $MUSTER_RANK of $MUSTER_WORLD_SIZE'
    """
    if package and no_package:
        raise click.UsageError("--package and --no-package exclude each other")
    variables: dict[str, str] = {}
    for file in env_file:
        variables |= read_env_file(file.read(), str(file.name))
    variables |= parse_texts(env, "--env")
    job = as_job(
        Asked(
            words=words,
            name=name,
            workers=workers,
            ps=ps,
            cpu=cpu,
            memory=memory,
            gpu=gpu,
            gpu_type=gpu_type,
            framework=framework,
            cluster=cluster,
            priority=priority,
            env=variables,
            params=parse_assignments(params, "--param"),
            labels=parse_texts(labels, "--label"),
            package=None if no_package else folder_to_send(package, Path.cwd(), Path.home(), say),
            inputs=inputs,
            outputs=outputs,
            time_limit=time_limit,
            retries=retries,
        )
    )
    submission = prepare(job, Changes())
    client = connect()
    if dry_run:
        print_plan(client.dry_run(submission), output)
        return
    with shown_upload() as progress:
        handle = client.send(submission, progress=progress, announce=announce_packing)
    say(f"submitted job {handle.name} ({handle.id})")
    if handle.view.reason:
        say(f"  {handle.state}: {handle.view.reason}")
    if detach:
        if output == "name":
            click.echo(handle.name)
        else:
            print_document(handle.view.raw, output)
        say(f"  muster logs -f {handle.name}    follow its output")
        return
    ended = follow(handle)
    if output != "name":
        print_document(ended.raw, output)
    exit_by(ended)
