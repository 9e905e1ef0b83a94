"""`submit`: makes the request of paddlecloud's client of its flags, and submits it as a job file of that dialect."""

import json
from pathlib import Path
from typing import Any

import click

from muster.cli.paddlecloud.pfs import cluster_of, is_pfs, remote
from muster.cli.paddlecloud.session import Session, open_session
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.submitting import Submission

_REFUSED_IN_NAMES = ("_", ".")


class GoFlags(click.Command):
    """A command whose switches may also be written as Go's are: `-x=true`, `-x=false`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        switches = {name for one in self.params if getattr(one, "is_flag", False) for name in one.opts}
        return super().parse_args(ctx, [word for given in args for word in _switched(given, switches)])


@click.command(cls=GoFlags)
@click.option("-jobname", "-name", "--jobname", "--name", "name", default="paddle-cluster-job", show_default=True)
@click.option("-parallelism", "--parallelism", type=int, default=1, show_default=True, help="How many trainers.")
@click.option("-cpu", "--cpu", type=int, default=1, show_default=True, help="CPUs of a trainer.")
@click.option("-gpu", "--gpu", type=int, default=0, show_default=True, help="GPUs of a trainer.")
@click.option("-memory", "--memory", default="1Gi", show_default=True, help="Memory of a trainer.")
@click.option(
    "-pservers", "--pservers", type=int, default=0, help="How many parameter servers; 0: as many as trainers."
)
@click.option("-pscpu", "--pscpu", type=int, default=1, show_default=True, help="CPUs of a parameter server.")
@click.option("-psmemory", "--psmemory", default="1Gi", show_default=True, help="Memory of a parameter server.")
@click.option("-entry", "--entry", default="", help="The command of a trainer.")
@click.option("-topology", "--topology", default="", help="A configuration file of Paddle v1.")
@click.option("-passes", "--passes", type=int, default=1, show_default=True, help="PADDLE_INIT_NUM_PASSES.")
@click.option("-image", "--image", default="", help="The image to run in.")
@click.option("-registry", "--registry", default="", help="The registry of the image, as `registry -name` called it.")
@click.option("-min_instance", "--min_instance", "minInstance", type=int, default=1, help="The fewest trainers.")
@click.option("-max_instance", "--max_instance", "maxInstance", type=int, default=1, help="The most trainers.")
@click.option("-faulttolerant", "--faulttolerant", is_flag=True, help="Go on when a trainer fails.")
@click.argument("package")
def submit(package: str, name: str, **flags: Any) -> None:
    """Submit a job. PACKAGE is a folder here, which is uploaded, or a path `/pfs/DATACENTER/home/USER/...`.

    \b
    Examples:
      muster paddlecloud submit -jobname demo -parallelism 2 -entry "python train.py" ./src
      muster paddlecloud submit -jobname demo -gpu 1 -entry "python train.py" /pfs/dc1/home/li@example.org/mypackage
    """
    if any(character in name for character in _REFUSED_IN_NAMES):
        raise click.UsageError(f"the name of a job has no {' and no '.join(_REFUSED_IN_NAMES)}: {name}")
    session = open_session()
    with upload_progress() as progress:
        submission = prepared(request(name, package, flags), package, session)
        session.client.send(submission, progress=progress, announce=announce_packing)
    echo(f"{name} submited.")


def request(name: str, package: str, flags: dict[str, Any]) -> dict[str, Any]:
    """The body of the original client's request. It has as many parameter servers as trainers if none are asked for."""
    return {"name": name, "jobPackage": package, **flags, "pservers": flags["pservers"] or flags["parallelism"]}


def prepared(body: dict[str, Any], package: str, session: Session) -> Submission:
    """A folder that is here is packed and sent, and is the package then; a path on the cluster is left to the
    server."""
    if session.datacenter:
        body = {**body, "datacenter": cluster_of(session.datacenter, session)}
    folder = Path(package).expanduser()
    if is_pfs(package) and not folder.is_dir():
        there = remote(package, session)
        return Submission({"source": _text({**body, "jobPackage": f"/pfs/{there.cluster}/{there.path}"})})
    return Submission({"source": _text({**body, "jobPackage": "."})}, folder=folder.resolve())


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)


def _switched(given: str, switches: set[str]) -> list[str]:
    name, equals, value = given.partition("=")
    if not equals or name not in switches:
        return [given]
    if value.lower() in ("1", "t", "true"):
        return [name]
    if value.lower() in ("0", "f", "false"):
        return []
    raise click.UsageError(f"{name} is true or false, not {value!r}")
