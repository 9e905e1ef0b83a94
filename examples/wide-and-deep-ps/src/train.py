"""Train a wide-and-deep click model on parameter servers, configured only by environment variables.

The same command runs in both roles: TRAINING_ROLE says which one this task has.
"""

import argparse
import os
import sys

import model
from clicks import Visit, held_out_visits, training_visits
from parameters import Parameters
from serving import serve

BATCH = 50
TRAINING_VISITS = 3000
HELD_OUT_VISITS = 500
WANTED_ACCURACY = 0.9


def main() -> int:
    if os.environ["TRAINING_ROLE"] == "PSERVER":
        serve(os.environ["POD_IP"], int(os.environ["PADDLE_PORT"]), int(os.environ["PADDLE_TRAINERS_NUM"]))
        return 0
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--epochs", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    return work(int(os.environ["PADDLE_TRAINER_ID"]), chosen.epochs, chosen.lr)


def work(worker: int, epochs: int, rate: float) -> int:
    """Train on this worker's visits, then evaluate the model that all workers trained together."""
    endpoints = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    parameters = Parameters(endpoints)
    print(f"worker {worker} of {os.environ['PADDLE_TRAINERS_NUM']}, parameters on {', '.join(endpoints)}")
    visits = training_visits(worker, TRAINING_VISITS)
    for epoch in range(1, epochs + 1):
        loss = run_epoch(parameters, visits, rate)
        print(f"worker {worker} epoch {epoch}/{epochs} loss {loss:.4f}")
    parameters.wait_for_all_workers()
    right = accuracy(parameters, held_out_visits(HELD_OUT_VISITS))
    print(f"worker {worker} held-out accuracy {right:.3f} (wanted: {WANTED_ACCURACY})")
    return 0 if right >= WANTED_ACCURACY else 1


def run_epoch(parameters: Parameters, visits: list[Visit], rate: float) -> float:
    """Train for one epoch and return the mean log loss, computed before the update of each batch."""
    loss = 0.0
    for start in range(0, len(visits), BATCH):
        batch = visits[start : start + BATCH]
        slopes, batch_loss = model.gradients(parameters.pull(model.sizes(batch)), batch)
        parameters.push(slopes, rate)
        loss += batch_loss
    return loss / len(visits)


def accuracy(parameters: Parameters, visits: list[Visit]) -> float:
    values = parameters.pull(model.sizes(visits))
    hits = sum((model.probability(values, visit) > 0.5) == visit.clicked for visit in visits)
    return hits / len(visits)


if __name__ == "__main__":
    sys.exit(main())
