"""Train a linear model over all workers. TensorFlow reads who is who from TF_CONFIG."""

import argparse
import json
import os
import sys

try:
    import tensorflow as tf
except ImportError as error:
    sys.exit(f"{sys.executable} cannot import TensorFlow ({error}): set the param `python`, or `runtime` in job.yaml")

WEIGHTS = [[2.0], [-3.0], [0.5], [4.0]]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    inputs = tf.random.stateless_normal((200, len(WEIGHTS)), seed=(rank, 0))
    targets = inputs @ tf.constant(WEIGHTS)
    with strategy.scope():
        weights = tf.Variable(tf.zeros((len(WEIGHTS), 1)), aggregation=tf.VariableAggregation.MEAN)

    def step_of() -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ weights - targets) ** 2)
        weights.assign_sub(chosen.lr * tape.gradient(loss, weights))
        return loss

    @tf.function
    def train() -> tf.Tensor:
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(step_of), axis=None)

    for step in range(1, chosen.steps + 1):
        loss = train()
        if step % 10 == 0:
            count = strategy.num_replicas_in_sync
            print(f"worker {rank}, {count} replicas, step {step}/{chosen.steps} loss {float(loss):.6f}", flush=True)


if __name__ == "__main__":
    main()
