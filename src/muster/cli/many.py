"""One verb on many jobs: all are tried even if one fails."""

from collections.abc import Callable, Sequence

import click

from muster.cli.failures import Failure
from muster.cli.output import print_document
from muster.cli.session import connect, say
from muster.client.errors import UNREACHABLE, MusterError
from muster.client.handles import JobHandle
from muster.client.views import JobView


def act_on_each(refs: Sequence[str], act: Callable[[JobHandle], JobHandle], output: str) -> None:
    client = connect()
    done: list[JobView] = []
    failed: list[MusterError] = []
    for ref in refs:
        try:
            job = act(client.job(ref)).view
        except MusterError as error:
            if len(refs) == 1 or error.code == UNREACHABLE:
                raise
            failed.append(error)
            continue
        done.append(job)
        say(f"job {job.name} is {job.state}")
        if output == "name":
            click.echo(job.name)
    if output != "name":
        raws = [job.raw for job in done]
        print_document(raws[0] if len(refs) == 1 else {"items": raws}, output)
    if failed:
        raise Failure(f"{len(failed)} of {len(refs)} failed", problems=tuple(error.message for error in failed))
