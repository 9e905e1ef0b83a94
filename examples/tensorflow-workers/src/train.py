"""TensorFlow's MultiWorkerMirroredStrategy on CPUs, configured only by TF_CONFIG.

Every worker checks that an all-reduce gives the known sum, and that it ends with the weights that the samples were
generated with. Each worker has different samples, so only the sum of all gradients leads there.
"""

import argparse
import json
import os
import sys

import tensorflow as tf

TRUE_WEIGHTS = [[2.0], [-3.0], [0.5], [4.0]]
SAMPLES = 200
TOLERANCE = 1e-3


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    summed = sum_is_right(strategy, rank)
    weights = fit(strategy, rank, chosen.steps, chosen.lr)
    right = bool(tf.reduce_all(tf.abs(weights - TRUE_WEIGHTS) < TOLERANCE))
    shown = " ".join(f"{weight:.6f}" for weight in tf.reshape(weights, [-1]).numpy())
    print(f"rank {rank} weights {shown} right: {right}")
    return 0 if summed and right else 1


def sum_is_right(strategy: tf.distribute.Strategy, rank: int) -> bool:
    """Check an all-reduce: each rank contributes rank + 1, so the sum over n ranks must be n(n+1)/2."""

    @tf.function
    def summed() -> tf.Tensor:
        contributed = strategy.run(lambda: tf.constant(rank + 1.0))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, contributed, axis=None)

    size, found = strategy.num_replicas_in_sync, float(summed())
    wanted = size * (size + 1) / 2
    print(f"tensorflow {tf.__version__} rank {rank} of {size} sum {found} (wanted: {wanted})")
    return found == wanted


def fit(strategy: tf.distribute.Strategy, rank: int, steps: int, rate: float) -> tf.Tensor:
    inputs = tf.random.stateless_normal([SAMPLES, len(TRUE_WEIGHTS)], seed=[rank, 0])
    targets = inputs @ tf.constant(TRUE_WEIGHTS)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([len(TRUE_WEIGHTS), 1]))

    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ weights - targets) ** 2)
        gradient = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        weights.assign_sub(rate * context.all_reduce(tf.distribute.ReduceOp.MEAN, gradient))
        return loss

    @tf.function
    def trained() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(step), axis=None)

    for number in range(1, steps + 1):
        loss = trained()
        if number == 1 or number % 10 == 0:
            print(f"rank {rank} step {number}/{steps} loss {float(loss):.6f}")
    return weights.read_value()


if __name__ == "__main__":
    sys.exit(main())
