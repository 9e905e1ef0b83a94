"""Compute a sum over the processes of a JAX job on CPUs, configured only by the JAX_* variables."""

import os
import sys

import jax
import jax.numpy as jnp
from jax.experimental.multihost_utils import process_allgather


def main() -> int:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # JAX reads the address itself, but takes the other two only from clusters that it knows.
    jax.distributed.initialize(
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=int(os.environ["JAX_PROCESS_ID"])
    )
    rank, size = jax.process_index(), jax.process_count()
    add = jax.pmap(lambda x: jax.lax.psum(x, "devices"), axis_name="devices")
    total = float(add(jnp.full((jax.local_device_count(),), rank + 1.0))[0])
    wanted = size * (size + 1) / 2
    seen = [int(other) for other in process_allgather(jnp.array(rank)).tolist()]
    print(f"jax {jax.__version__} rank {rank} of {size} sum {total} (wanted: {wanted}), ranks seen: {seen}")
    jax.distributed.shutdown()
    return 0 if total == wanted and seen == list(range(size)) else 1


if __name__ == "__main__":
    sys.exit(main())
