"""`muster receivers`: servers on this machine that one file deploys and a supervisor keeps running."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from muster.cli.failures import Failure
from muster.cli.lazy_group import Group
from muster.cli.session import say
from muster.cli.shared_options import output_option
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.tables.receiver_columns import ReceiverView, receiver_columns
from muster.cli.terminal import echo
from muster.receivers.addresses import Address
from muster.receivers.controlling import NotDone, State, statuses, supervisor_pid, wait_for
from muster.receivers.deployments import Deployment, Register
from muster.receivers.instances import Instance

_LINES = 100
Callback = TypeVar("Callback", bound=Callable[..., None])


def _chosen_receivers(callback: Callback) -> Callback:
    names = click.argument("names", metavar="NAME...", nargs=-1)
    everything = click.option("--all", "is_all", is_flag=True, help="All receivers, one after the other.")
    return names(everything(callback))


@click.group(cls=Group)
def command() -> None:
    """Deploy receivers: servers of this machine that share one store, each in a folder of its own.

    A receiver is named by its address. All commands but `deploy` find it by that name.

    \b
    Examples:
      muster receivers deploy receivers.yaml
      muster receivers list
      muster receivers restart gpu1.example.org:9090
    """


@command.command()
@click.argument("file", type=click.Path(dir_okay=False, exists=True))
@click.option("--dry-run", is_flag=True, help="Check the file, and say what would be done.")
def deploy(file: str, dry_run: bool) -> NoReturn:
    """Deploy the receivers that FILE names, and start them. FILE is YAML, or Python with nothing but literals.

    A deployment can be repeated: it changes only what has changed, and says so line by line. If anything in FILE cannot
    be done, nothing is. See docs/guides/receivers.md.

    \b
    Examples:
      muster receivers deploy receivers.yaml
      muster receivers deploy deploy_config.py --dry-run
    """
    words = [sys.executable, "-m", "muster.bootstrap.receivers_deploy", file, *(["--dry-run"] if dry_run else [])]
    sys.stdout.flush()
    os.execv(sys.executable, words)  # noqa: S606 - an argument list, no shell


@command.command("list")
@output_option()
def list_(output: str) -> None:
    """List the receivers that you have deployed on this machine.

    \b
    Examples:
      muster receivers list
      muster receivers list -o json
    """
    register = Register.of_account()
    deployments = register.deployments()
    views = [ReceiverView(one, status) for one in deployments for status in statuses(one)]
    print_list(views, receiver_columns(), output)
    if not views:
        say(f"no receivers are registered in {register.home}; whoever deployed with another MUSTER_HOME gives that")
    for one in deployments:
        is_wanted = any(wanted.is_running for wanted in one.wanted().values())
        if is_wanted and supervisor_pid(one) is None:
            warning = f"{one.folder} has no supervisor, so that nobody starts a receiver again that ends"
            echo(
                f"{click.style('warning:', fg='yellow')} {warning}; `muster receivers start --all` starts one", err=True
            )


@command.command()
@_chosen_receivers
def start(names: Sequence[str], is_all: bool) -> None:
    """Start receivers that were stopped, and the supervisor if it does not run.

    \b
    Examples:
      muster receivers start 127.0.0.1:9090
      muster receivers start --all
    """
    _change(names, is_all, State.RUNNING)


@command.command()
@_chosen_receivers
def stop(names: Sequence[str], is_all: bool) -> None:
    """Stop receivers. Running jobs continue; another receiver on the store, or the next start, finds them.

    \b
    Examples:
      muster receivers stop 127.0.0.1:9090
      muster receivers stop --all
    """
    _change(names, is_all, State.STOPPED)


@command.command()
@_chosen_receivers
def restart(names: Sequence[str], is_all: bool) -> None:
    """Stop receivers and start them again, one after the other.

    \b
    Examples:
      muster receivers restart 127.0.0.1:9090
      muster receivers restart --all
    """
    _change(names, is_all, State.RUNNING, again=True)


@command.command()
@click.argument("name", metavar="NAME")
@output_option("table", "json", "yaml")
def describe(name: str, output: str) -> None:
    """Show everything about a receiver: its process, its folder, its settings file.

    \b
    Examples:
      muster receivers describe 127.0.0.1:9090
    """
    deployment, instance = _found(name)
    status = next(one for one in statuses(deployment) if one.instance == instance)
    view = ReceiverView(deployment, status).raw | {
        "config": str(instance.config),
        "output": str(instance.output),
        "store": str(instance.home),
        "failures": instance.supervision().failures,
    }
    if output != "table":
        print_document(view, output)
        return
    titles = {
        "name": "Name",
        "state": "State",
        "pid": "Process",
        "why": "Why",
        "failures": "Failed starts",
        "url": "Address",
        "folder": "Folder",
        "config": "Settings",
        "output": "Output",
        "store": "Store",
        "supervisorPid": "Supervisor",
    }
    print_pairs([(title, view[key]) for key, title in titles.items()])


@command.command()
@click.argument("name", metavar="NAME")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on.")
@click.option("-n", "--lines", type=click.IntRange(0), default=_LINES, show_default=True, help="How many lines.")
def logs(name: str, follow: bool, lines: int) -> NoReturn:
    """Print the last lines that a receiver has written.

    \b
    Examples:
      muster receivers logs 127.0.0.1:9090 -n 20
      muster receivers logs 127.0.0.1:9090 -f
    """
    _, instance = _found(name)
    program = shutil.which("tail")
    if program is None:
        raise Failure("there is no program `tail` here", hint=f"look into {instance.output}")
    sys.stdout.flush()
    words = ["tail", "-n", str(lines), *(["-F"] if follow else []), "--", str(instance.output)]
    os.execv(program, words)  # noqa: S606 - an argument list, no shell


@command.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def remove(names: Sequence[str]) -> None:
    """Stop receivers, and delete their folders. The store with all jobs stays.

    \b
    Examples:
      muster receivers remove 127.0.0.1:9092
    """
    found = [_found(name) for name in names]
    _change(names, False, State.STOPPED)
    for deployment, instance in found:
        deployment.forget([instance.address])
        shutil.rmtree(instance.folder)
        echo(f"{instance.name}: removed")


@command.command()
@click.argument("folder", metavar="DEPLOY_DIR", type=click.Path(file_okay=False, exists=True))
def supervise(folder: str) -> NoReturn:
    """Supervise a deployment in the foreground, for a service manager. Other commands start one in the background.

    It adopts receivers that run. When it ends, they run on. The exit code is 1 if another supervisor runs, and 0 when
    all receivers are stopped.

    \b
    Examples:
      muster receivers supervise /srv/receivers
    """
    path = str(Path(folder).absolute())
    if not Deployment(Path(path)).exists():
        raise Failure(f"nothing was deployed in {path}", hint="muster receivers deploy FILE")
    sys.stdout.flush()
    os.execv(  # noqa: S606 - an argument list, no shell
        sys.executable, [sys.executable, "-m", "muster.receivers.supervising", path]
    )


def _change(names: Sequence[str], is_all: bool, state: State, *, again: bool = False) -> None:
    for deployment, addresses in _chosen(names, is_all).items():
        deployment.want(addresses, is_running=state is State.RUNNING, again=again)
        try:
            wait_for(deployment, addresses, state, lambda line: echo(line, err=True))
        except NotDone as error:
            raise Failure(
                f"not all receivers are {state.lower()}",
                problems=tuple(str(error).splitlines()),
                hint="`muster receivers logs NAME` shows what one said",
            ) from None
        for address in addresses:
            echo(f"{address}: {'restarted' if again else state.lower()}")


def _chosen(names: Sequence[str], is_all: bool) -> dict[Deployment, list[Address]]:
    if is_all == bool(names):
        raise click.UsageError("Name receivers, or give --all.")
    if is_all:
        found = [(one, instance) for one in Register.of_account().deployments() for instance in one.instances()]
    else:
        found = [_found(name) for name in dict.fromkeys(names)]
    chosen: dict[Deployment, list[Address]] = {}
    for deployment, instance in found:
        chosen.setdefault(deployment, []).append(instance.address)
    return chosen


def _found(name: str) -> tuple[Deployment, Instance]:
    """Finds a receiver by its address, or by the name of its folder."""
    all_of_them = [(one, instance) for one in Register.of_account().deployments() for instance in one.instances()]
    for deployment, instance in all_of_them:
        if name.lower() in (instance.name, instance.address.folder):
            return deployment, instance
    known = ", ".join(instance.name for _, instance in all_of_them)
    hint = f"there are: {known}" if known else "muster receivers deploy FILE deploys some"
    raise Failure(f"there is no receiver {name!r}", hint=hint)
