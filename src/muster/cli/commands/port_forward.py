"""`muster port-forward`."""

import click

from muster.cli.failures import Failure
from muster.cli.local_ports import LocalPorts, Mapping, parsed
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_workers, job_argument
from muster.client.errors import MusterError


class _Ports(click.ParamType[Mapping]):
    name = "ports"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Mapping:
        mapping = parsed(str(value))
        if mapping is None:
            self.fail(f"{value!r} is not LOCAL, LOCAL:REMOTE or :REMOTE with ports up to 65535", param, ctx)
        return mapping


@click.command()
@job_argument
@click.argument("ports", metavar="LOCAL[:REMOTE]...", nargs=-1, required=True, type=_Ports())
@click.option(
    "-w",
    "--worker",
    metavar="NAME",
    shell_complete=complete_workers,
    help="The worker, such as worker-0 or just 0; the first one if absent.",
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen on this machine.")
def command(job: str, ports: tuple[Mapping, ...], worker: str | None, address: str) -> None:
    """Reach ports of a running task from this machine, until Ctrl-C.

    Whatever connects to the local port here is connected to the remote port in the task, over the connection to the
    server. Without a remote port, both are the same. Local port 0 takes any that is free. Only ports on which
    processes of that task listen can be reached, on 127.0.0.1 or on all addresses of its node. You may do this in
    your own jobs, and admins in all. Audit events record who did so.

    \b
    Examples:
      muster port-forward mnist 6006
      muster port-forward mnist 8080:80 0:9090
      muster port-forward @last 5678 -w worker-1
    """
    handle = connect().job(job)
    name = handle.name
    if handle.view.ended:
        raise Failure(f"job {name} has ended", hint=f"`muster logs {name}` prints what it said")
    handle.require_connections()

    def is_over(error: MusterError) -> bool:
        return error.code in ("not-found", "not-authenticated", "forbidden") or (
            error.code == "conflict" and handle.twin().refresh().view.ended
        )

    local = LocalPorts(address, ports, lambda port: handle.connection(port, task=worker), say)
    try:
        for where, remote in local.shown:
            click.echo(f"Forwarding from {where} to port {remote} of {name}")
        error = local.serve(is_over)
    finally:
        local.close()
    raise error
