"""TorchX's Python runner with the `local_cwd` scheduler: no server, jobs are children of this process."""

import logging
from typing import Any

from torchx.runner import get_runner

from bench.peers.drivers.serving import serve

WAIT_INTERVAL_S = 0.02
IN_FLIGHT = 50  # the local scheduler forgets apps beyond 100, finished or not


class TorchXClient:
    def __init__(self) -> None:
        logging.disable(logging.WARNING)
        self._runner = get_runner()
        self._open: list[Any] = []

    def submit(self, script: str, argument: str) -> Any:
        if len(self._open) >= IN_FLIGHT:
            self._finish(self._open.pop(0))
        handle = self._runner.run_component("utils.sh", ["/bin/sh", script, argument], "local_cwd")
        self._open.append(handle)
        return handle

    def wait(self, handles: list[Any]) -> None:
        for handle in handles:
            if handle in self._open:
                self._open.remove(handle)
                self._finish(handle)

    def _finish(self, handle: Any) -> None:
        status = self._runner.wait(handle, wait_interval=WAIT_INTERVAL_S)
        if status is None or status.state.name != "SUCCEEDED":
            raise RuntimeError(f"{handle} ended as {status}")

    def close(self) -> None:
        self._runner.close()


if __name__ == "__main__":
    serve(TorchXClient)
