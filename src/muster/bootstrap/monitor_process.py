"""The process of `muster monitor`, and what it can be asked to do once."""

import argparse
import asyncio
import logging
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from muster.bootstrap.error_printing import print_error
from muster.bootstrap.monitor_ways import ways_of
from muster.bootstrap.server_log import set_up_plain_logging
from muster.domain.errors import Invalid, MusterError
from muster.monitor.canary import CanaryJob
from muster.monitor.checking_once import Report, checked, tested
from muster.monitor.pinging import Ping
from muster.monitor.receiver_calls import Receiver
from muster.monitor.rounds import Damping
from muster.monitor.state_file import only_monitor, opened_state, read_state
from muster.monitor.status import status
from muster.monitor.watching import Monitor, Plan
from muster.monitor.week import WeeklyTime
from muster.settings.monitor import DAYS
from muster.settings.monitor_reading import MonitorConfig, read_monitor_config

_log = structlog.get_logger("monitor")


def plan_of(config: MonitorConfig) -> Plan:
    settings, secrets = config.settings, config.secrets
    ping, canary, digest = settings.ping, settings.canary, settings.digest
    return Plan(
        receivers_of(config),
        settings.interval,
        settings.timeout,
        Damping(settings.damping.failures, settings.damping.successes),
        ways_of(config),
        None if digest is None else _weekly(digest.day, digest.time, digest.time_zone),
        config.state_file,
        None if canary is None else CanaryJob(canary.every, canary.timeout, _own_name(config), canary.spec),
        None if ping is None else Ping(secrets.ping, ping.timeout),
    )


def _own_name(config: MonitorConfig) -> str:
    """No two monitors have the same, because no two share a state."""
    return f"{socket.gethostname()} {config.state_file}"


def receivers_of(config: MonitorConfig) -> tuple[Receiver, ...]:
    pairs = zip(config.settings.receivers, config.secrets.tokens, strict=True)
    return tuple(Receiver(one.title, one.url, one.fingerprint, token) for one, token in pairs)


def _weekly(day: str, time_of_day: str, zone: str) -> WeeklyTime:
    hour, _, minute = time_of_day.partition(":")
    return WeeklyTime(DAYS.index(day), int(hour), int(minute), zone)


async def _watch(config: MonitorConfig) -> None:
    """Watches until it is cancelled, also by SIGTERM. SIGINT becomes KeyboardInterrupt."""
    monitor = Monitor(plan_of(config), opened_state(config.state_file))
    watching = asyncio.ensure_future(monitor.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watching.cancel)
    _log.info("the monitor watches", receivers=[one.title for one in config.settings.receivers])
    try:
        await watching
    finally:
        _log.info("the monitor ends")


async def _checked(config: MonitorConfig, with_test: bool) -> Report:
    settings = config.settings
    found = await checked(receivers_of(config), settings.timeout)
    first = f"the file is right: receivers: {len(settings.receivers)}, ways to send notices: {len(ways_of(config))}"
    report = Report([first, *found.lines], found.is_well)
    return report + await tested(receivers_of(config), ways_of(config)) if with_test else report


def _told(report: Report) -> int:
    sys.stdout.write("".join(f"{line}\n" for line in report.lines))
    return 0 if report.is_well else 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="muster monitor")
    parser.add_argument("act", choices=("watch", "check", "status"))
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--send-test", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--log-level", default="info")
    given = parser.parse_args(argv)
    try:
        config = read_monitor_config(given.config)
    except Invalid as error:
        print_error(error)
        return 2
    try:
        set_up_plain_logging(getattr(logging, given.log_level.upper()), config.secrets.all)
        match given.act:
            case "check":
                return _told(asyncio.run(_checked(config, given.send_test)))
            case "status":
                return _told(status(read_state(config.state_file), time.time(), given.json))
        with only_monitor(config.state_file), suppress(asyncio.CancelledError):
            asyncio.run(_watch(config))
        return 0
    except MusterError as error:
        print_error(error)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
