"""Draw points in a square, and count those in the circle. Rank and size come from the variables of Open MPI."""

import argparse
import os
import random
from pathlib import Path


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, required=True)
    samples = arguments.parse_args().samples
    rank, size = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    share = len(range(rank, samples, size))
    chance = random.Random(rank)
    inside = sum(chance.random() ** 2 + chance.random() ** 2 < 1 for _ in range(share))
    print(f"rank {rank} of {size}: {share} points, pi is about {4 * inside / share:.3f}", flush=True)
    Path("result").mkdir(exist_ok=True)
    Path(f"result/rank-{rank}.txt").write_text(f"{inside} {share}\n")


if __name__ == "__main__":
    main()
