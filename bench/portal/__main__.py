"""What the portal costs a browser, in a real Chromium.

    python -m bench.portal [--only NAME ...] [--minutes N] [--jobs N] [--lines N] [--nodes N]

Most of it is measured on a pretended cluster of 40 nodes that is busy all the time. Prints one line per question with
its bar, and below it what the time was spent on.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.portal.answers import Answer
from bench.portal.changing import changing
from bench.portal.heat_maps import heat_map
from bench.portal.left_open import left_open
from bench.portal.lists import scrolling
from bench.portal.long_logs import long_logs
from bench.portal.opening import opening
from tests.parts.pretend_cluster.seeding import seed
from tests.parts.pretend_cluster.server import running_pretend_server
from tests.portal.reading import chromium, missing_parts

SEEDED_S = 4 * 3600.0
NAMES = ("opening", "changing", "heat-map", "jobs", "log", "memory")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.portal")
    parser.add_argument("--only", action="append", choices=NAMES, help="may be given several times")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long pages are left open")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=1_000, help="of the heat map")
    asked = parser.parse_args(arguments)
    if why := missing_parts():
        print(why, file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="muster-bench-") as name,
        running_pretend_server(Path(name) / "home") as server,
        chromium() as browser,
    ):
        seed(server, seconds=SEEDED_S)
        cases: dict[str, Callable[[], Iterator[Answer]]] = {
            "opening": lambda: opening(browser, server),
            "changing": lambda: changing(browser, server),
            "heat-map": lambda: heat_map(browser, Path(name), asked.nodes),
            "jobs": lambda: scrolling(browser, server, asked.jobs),
            "log": lambda: long_logs(browser, server, asked.lines),
            "memory": lambda: left_open(browser, server, asked.minutes),
        }
        for case in asked.only or NAMES:
            print(f"{case}: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
            for answer in cases[case]():
                print(answer, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
