"""submitit: one pickled call per job, whose result it waits for as it does by default."""

from submitit import SlurmExecutor
from submitit.helpers import CommandFunction

from bench.slurm.drivers.serving import serve


def main() -> None:
    executor = SlurmExecutor(folder="jobs")
    executor.update_parameters(time=5, cpus_per_task=1, mem="100MB")
    serve(lambda script, argument: executor.submit(CommandFunction(["/bin/sh", script, argument])).result())


if __name__ == "__main__":
    main()
