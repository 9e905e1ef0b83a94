"""`python -m bench.slurm`: what Muster costs on a real Slurm cluster, beside other clients of the same cluster."""

import argparse
import sys
from dataclasses import replace

from bench.scale import FULL, QUICK
from bench.slurm.case import measure_slurm
from bench.table import render


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.slurm", description="Muster on Slurm, beside its other clients"
    )
    parser.add_argument("--quick", action="store_true", help="smaller counts, for a look while working")
    parser.add_argument("--rounds", type=int, help="jobs of each client")
    parser.add_argument("--queued", type=int, help="jobs in the queue")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    scale = replace(scale, starts=arguments.rounds or scale.starts, queued=arguments.queued or scale.queued)
    print(render(measure_slurm(scale)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
