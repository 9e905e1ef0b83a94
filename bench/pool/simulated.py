"""Simulated nodes: one process that is an SSH server at hundreds of addresses, with an agent that only talks.

`python -m bench.pool.simulated FOLDER NODES` prints its port and then obeys lines: `fill` lets every agent tell at once
as many samples as a server keeps, and prints `filled` when they are on their way; `silence NAME` stops that one from
saying anything, its connection left open.
"""

import asyncio
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import asyncssh

from bench.pool.simulated_usage import CORES, GPUS, MEMORY_BYTES, sample
from muster.agent.system.frames import FrameDecoder, Message, encode
from muster.backends.agents.usage_history import KEPT

READ_BYTES = 1 << 18
DRAIN_EVERY = 10


def address_of(index: int) -> str:
    """All of 127/8 is this machine."""
    return f"127.8.{index // 200}.{index % 200 + 1}"


def name_of(index: int) -> str:
    return f"sim{index:03d}"


class Fleet:
    def __init__(self, count: int) -> None:
        self._names = {address_of(index): name_of(index) for index in range(count)}
        self._agents: dict[str, Agent] = {}
        self._silent: set[str] = set()
        self._filling: asyncio.Task[None] | None = None

    async def serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        name = self._names[process.get_extra_info("sockname")[0]]
        if name in self._silent:
            await asyncio.Event().wait()
        await process.stdin.readline()  # the script that would become the agent
        await process.stdin.readline()  # and its order
        process.stdout.write(b'muster-answer:{"have": true}\n')
        agent = self._agents[name] = Agent(name, process)
        try:
            await agent.run()
        except (asyncssh.Error, ConnectionError):
            pass
        finally:
            agent.set_pace(0)
            process.exit(0)

    def obey(self, line: str) -> None:
        word, *names = line.split()
        if word == "silence":
            self._silent.add(names[0])
            self._agents[names[0]].silence()
        elif word == "fill":
            self._filling = asyncio.create_task(self._fill())

    async def _fill(self) -> None:
        await asyncio.gather(*(agent.fill() for agent in self._agents.values()))
        print("filled", flush=True)


class Agent:
    """Answers what a server asks of a node where nothing runs, and tells how busy it is."""

    def __init__(self, name: str, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self._name = name
        self._process = process
        self._random = random.Random(name)
        self._is_silent = False
        self._telling: asyncio.Task[None] | None = None

    async def run(self) -> None:
        decoder = FrameDecoder()
        while data := await self._process.stdin.read(READ_BYTES):
            for request in decoder.feed(data):
                self._say({"id": request["id"], "ok": True, **self._answer(request)})

    def set_pace(self, every_s: float) -> None:
        if self._telling is not None:
            self._telling.cancel()
        self._telling = asyncio.create_task(self._tell(every_s)) if every_s else None

    def silence(self) -> None:
        self._is_silent = True

    def _answer(self, request: Message) -> dict[str, Any]:
        op = request["op"]
        if op == "hello":
            return _hello(self._name)
        if op == "usage":
            self.set_pace(float(request["every_s"]))
        empty: dict[str, dict[str, Any]] = {
            "list": {"tasks": []},
            "engines": {"engines": [], "problems": {}},
            "check_folders": {"folders": {}},
        }
        return empty.get(op, {})

    async def _tell(self, every_s: float) -> None:
        await asyncio.sleep(self._random.uniform(0, every_s))  # agents do not beat in time
        while True:
            self._say(sample(self._random, time.time()))
            await asyncio.sleep(every_s)

    async def fill(self) -> None:
        now = time.time()
        for left in range(KEPT, 0, -1):
            self._say(sample(self._random, now - 2 * left))
            if left % DRAIN_EVERY == 0:
                await self._process.stdout.drain()

    def _say(self, message: Message) -> None:
        if not self._is_silent:
            self._process.stdout.write(encode(message))


def _hello(name: str) -> dict[str, Any]:
    cards = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": "A100-SXM4-80GB", "memory_bytes": 80 << 30}
        for index in range(GPUS)
    ]
    return {
        "protocol": 1,
        "agent_version": "0",
        "hostname": name,
        "boot_id": name,
        "now": time.time(),
        "python": "3.11.2",
        "cpus": CORES,
        "memory_bytes": MEMORY_BYTES,
        "gpus": cards,
        "gpu_source": "nvml",
        "limits": {"memory": True, "cpu": True, "why": ""},
        "address": "10.9.0.1",
        "disk_free_bytes": 1 << 40,
        "root": "/var/lib/muster",
        "uid": 1000,
        "gid": 1000,
    }


async def main(folder: Path, count: int) -> None:
    fleet = Fleet(count)
    server = await asyncssh.listen(
        "0.0.0.0",
        0,
        server_host_keys=[str(folder / "host_key")],
        authorized_client_keys=str(folder / "key.pub"),
        process_factory=fleet.serve,
        encoding=None,
        backlog=count,
        login_timeout=120,
    )
    print(json.dumps({"port": server.get_port()}), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        fleet.obey(line)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
