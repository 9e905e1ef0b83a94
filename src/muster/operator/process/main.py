"""The operator as a process: its arguments, its log, its signals and its exit code."""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
import uvloop

from muster.domain.errors import Invalid, MusterError
from muster.kubernetes.connection import Connection, connect
from muster.lib.clock import wall_clock
from muster.lib.ids import new_id
from muster.lib.quantities import parse_duration
from muster.operator.control.controller import Controller, Options
from muster.operator.control.gang_scheduling import gang_scheduling
from muster.operator.control.metrics import Metrics
from muster.operator.job.ports import parse_range
from muster.operator.process.health import Heartbeat, endpoints
from muster.operator.process.leader import Leadership, LeaseLost

_log = structlog.get_logger("operator")


def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    _set_up_logging(given.log_level)
    try:
        uvloop.run(_run(given))
    except MusterError as error:
        print(f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""), file=sys.stderr)  # noqa: T201
        return 2 if isinstance(error, Invalid) else 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _run(given: argparse.Namespace) -> None:
    connection = connect(Path(given.kubeconfig) if given.kubeconfig else None, given.context)
    try:
        ports = parse_range(given.port_range)
    except ValueError as error:
        raise Invalid(f"--port-range: {error}") from error
    options = Options(given.namespace or None, given.init_image, ports)
    metrics = Metrics()
    scheduling = gang_scheduling(
        given.scheduling, connection, options.namespace, wall_clock, take_back_s=_seconds(given.gang_timeout)
    )
    controller = Controller(connection, options, scheduling, metrics, wall_clock)
    metrics.jobs.set_function(lambda: len(controller.caches.jobs))
    metrics.pods.set_function(lambda: len(controller.caches.pods))
    leadership = _leadership(connection, given) if given.leader_elect else None

    def is_ready() -> bool:
        """A replica that waits for the lease is ready: it has nothing else to do."""
        return controller.is_synced or (leadership is not None and not leadership.is_held)

    heartbeat = Heartbeat()
    with endpoints(
        metrics,
        lambda: heartbeat.is_recent,
        is_ready,
        metrics_at=given.metrics_bind_address,
        health_at=given.health_probe_bind_address,
    ):
        try:
            async with heartbeat.beating():
                await _until_signalled(controller, leadership, metrics)
        finally:
            if leadership is not None:
                await leadership.release()
            await connection.close()


async def _until_signalled(controller: Controller, leadership: Leadership | None, metrics: Metrics) -> None:
    work = asyncio.create_task(_lead(controller, leadership, metrics))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        _log.info("stopped")


async def _lead(controller: Controller, leadership: Leadership | None, metrics: Metrics) -> None:
    if leadership is None:
        metrics.is_leader.set(1)
        await controller.run()
    await leadership.acquire()
    metrics.is_leader.set(1)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(leadership.keep())
            tasks.create_task(controller.run())
    except* LeaseLost as lost:
        raise lost.exceptions[0] from None


def _leadership(connection: Connection, given: argparse.Namespace) -> Leadership:
    identity = f"{os.environ.get('POD_NAME') or socket.gethostname()}_{new_id()}"
    return Leadership(connection, given.leader_elect_namespace or connection.namespace, identity, wall_clock)


def _seconds(given: str) -> float:
    try:
        return parse_duration(given)
    except ValueError as error:
        raise Invalid(f"--gang-timeout: {error}") from error


def _set_up_logging(level: str) -> None:
    number = getattr(logging, level.upper())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer(colors=False)
            if sys.stderr.isatty()
            else structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="muster operator", description="Run PaddleJobs on Kubernetes.")
    parser.add_argument("--kubeconfig", help="how to reach the API server (in a pod: its own account)")
    parser.add_argument("--context", help="the context of the kubeconfig")
    parser.add_argument("--namespace", default="", help="watch only this namespace")
    parser.add_argument("--leader-elect", action="store_true", help="act only while holding the lease")
    parser.add_argument("--leader-elect-namespace", default="", help="the namespace of the lease")
    parser.add_argument("--scheduling", default="", help="volcano, kubernetes or none; by default a guard holds gangs")
    parser.add_argument("--gang-timeout", default="2m", help="when a gang that starts only in part is taken back")
    parser.add_argument("--initImage", dest="init_image", default="", help="the image of the init container")
    parser.add_argument("--metrics-bind-address", default=":8080")
    parser.add_argument("--health-probe-bind-address", default=":8081")
    parser.add_argument("--port-range", default="35000,65000", help="the ports of jobs with intranet Host")
    parser.add_argument("--etcd-server", default="", help="has no effect; elastic jobs need no etcd")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    return parser.parse_args(argv)
