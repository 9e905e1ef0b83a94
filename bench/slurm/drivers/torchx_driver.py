"""TorchX's runner with its slurm scheduler. It asks for the state of a job once a second, not every ten."""

import logging

from torchx.runner import get_runner

from bench.slurm.drivers.serving import serve

WAIT_INTERVAL_S = 1.0


def main() -> None:
    logging.disable(logging.WARNING)
    runner = get_runner()

    def run(script: str, argument: str) -> None:
        handle = runner.run_component("utils.sh", ["/bin/sh", script, argument], "slurm")
        status = runner.wait(handle, wait_interval=WAIT_INTERVAL_S)
        if status is None or status.state.name != "SUCCEEDED":
            raise RuntimeError(f"{handle} ended as {status}")

    serve(run)


if __name__ == "__main__":
    main()
