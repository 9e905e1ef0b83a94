"""One module per framework, each with the same two functions, and the table of them.

`ports(spec, role, index)` returns the number of ports that the framework itself needs for a task. `environment(gang)`
computes once what all tasks have in common, and returns a function that gives each task the variables that the
framework's own launcher would have set. A new framework is a new module and one line here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from muster.domain.gangs import Gang
from muster.domain.specs import Framework, JobSpec, Role
from muster.launch.endpoints import Variables
from muster.launch.frameworks import jax, mpi, none, paddle, plain, tensorflow, torch


@dataclass(frozen=True, slots=True)
class Recipe:
    ports: Callable[[JobSpec, Role, int], int]
    environment: Callable[[Gang], Variables]


RECIPES: Mapping[Framework, Recipe] = {
    Framework.PADDLE: Recipe(paddle.ports, paddle.environment),
    Framework.TORCH: Recipe(torch.ports, torch.environment),
    Framework.TENSORFLOW: Recipe(tensorflow.ports, tensorflow.environment),
    Framework.MPI: Recipe(mpi.ports, mpi.environment),
    Framework.JAX: Recipe(jax.ports, jax.environment),
    Framework.PLAIN: Recipe(plain.ports, plain.environment),
    Framework.NONE: Recipe(none.ports, none.environment),
}
