"""Train a linear model over all processes of a JAX job. Their addresses come from the JAX_* variables."""

import argparse
import os
import sys

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    sys.exit(f"{sys.executable} cannot import JAX ({error}): set the param `python`, or `runtime` in job.yaml")

WEIGHTS = (2.0, -3.0, 0.5, 4.0)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, required=True)
    arguments.add_argument("--lr", type=float, required=True)
    chosen = arguments.parse_args()
    if os.environ.get("JAX_PLATFORMS") == "cpu":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # JAX reads the address itself, but takes the other two only from clusters that it knows.
    jax.distributed.initialize(
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"])
    )
    rank, devices = jax.process_index(), jax.local_device_count()
    inputs = jax.random.normal(jax.random.PRNGKey(rank), (devices, 200, len(WEIGHTS)))
    targets = inputs @ jnp.array(WEIGHTS)

    def loss_of(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> jax.Array:
        return jnp.mean((inputs @ weights - targets) ** 2)

    def step_of(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, gradient = jax.value_and_grad(loss_of)(weights, inputs, targets)
        return weights - chosen.lr * jax.lax.pmean(gradient, "all"), jax.lax.pmean(loss, "all")

    train = jax.pmap(step_of, axis_name="all")
    weights = jnp.zeros((devices, len(WEIGHTS)))
    for step in range(1, chosen.steps + 1):
        weights, loss = train(weights, inputs, targets)
        if step % 10 == 0:
            print(f"rank {rank} of {jax.process_count()} step {step}/{chosen.steps} loss {loss[0]:.6f}", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
