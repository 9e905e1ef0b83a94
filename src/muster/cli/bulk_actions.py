"""Performs one action on many jobs or nodes. All are tried even if one fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from muster.cli.failures import Failure
from muster.cli.session import connect, say
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.client.client import Client
from muster.client.errors import UNREACHABLE, MusterError
from muster.client.handles import JobHandle
from muster.client.node_views import NodeView
from muster.client.views import JobView


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def raw(self) -> Mapping[str, Any]: ...


T = TypeVar("T", bound=_Named)


def _job_now(job: JobView) -> str:
    return f"job {job.name} is {job.state}"


def act_on_jobs(
    refs: Sequence[str],
    act: Callable[[JobHandle], JobHandle],
    output: str,
    describe: Callable[[JobView], str] = _job_now,
) -> None:
    _each(refs, lambda client, ref: act(client.job(ref)).view, output, describe)


def act_on_nodes(names: Sequence[str], act: Callable[[Client, str], NodeView], output: str) -> None:
    _each(names, act, output, _node_now)


def _node_now(node: NodeView) -> str:
    return f"node {node.name} is {node.state}{f' ({node.note})' if node.note else ''}"


def _each(refs: Sequence[str], act: Callable[[Client, str], T], output: str, describe: Callable[[T], str]) -> None:
    client = connect()
    done: list[T] = []
    failed: list[MusterError] = []
    for ref in refs:
        try:
            seen = act(client, ref)
        except MusterError as error:
            if len(refs) == 1 or error.code == UNREACHABLE:
                raise
            failed.append(error)
            continue
        done.append(seen)
        say(describe(seen))
        if output == "name":
            echo(seen.name)
    if output != "name":
        raws = [seen.raw for seen in done]
        print_document(raws[0] if len(refs) == 1 else {"items": raws}, output)
    if failed:
        raise Failure(f"{len(failed)} of {len(refs)} failed", problems=tuple(_told(failed)))


def _told(errors: Sequence[MusterError]) -> Iterator[str]:
    for error in errors:
        yield error.message
        yield from (f"  {problem}" for problem in error.problems)
