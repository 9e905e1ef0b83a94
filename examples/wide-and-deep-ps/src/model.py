"""A small wide-and-deep click model and its gradients, in plain Python.

The wide part has one weight per value of each field and one per (age, item) pair. The deep part has an embedding per
field value, one hidden layer and one output. All functions are pure functions of the parameters.
"""

import math
from collections.abc import Iterable

from clicks import Visit
from parameters import Vectors

EMBEDDING = 3
HIDDEN = 4
FIELDS = 3


def sizes(batch: Iterable[Visit]) -> dict[str, int]:
    """Return the parameters that a batch needs, with their lengths."""
    needed = {"wide:bias": 1, "deep:output": HIDDEN}
    needed.update({f"deep:hidden:{unit}": EMBEDDING * FIELDS for unit in range(HIDDEN)})
    for visit in batch:
        needed.update(dict.fromkeys(_wide(visit), 1))
        needed.update(dict.fromkeys(_deep(visit), EMBEDDING))
    return needed


def probability(values: Vectors, visit: Visit) -> float:
    return _forward(values, visit)[0]


def gradients(values: Vectors, batch: list[Visit]) -> tuple[Vectors, float]:
    """Return the mean gradient of the batch by parameter, and its summed log loss."""
    total = {name: [0.0] * len(value) for name, value in values.items()}
    loss = 0.0
    for visit in batch:
        chance, inputs, hidden = _forward(values, visit)
        loss -= math.log(max(chance if visit.clicked else 1.0 - chance, 1e-12))
        _backward(values, visit, inputs, hidden, (chance - visit.clicked) / len(batch), total)
    return total, loss


def _forward(values: Vectors, visit: Visit) -> tuple[float, list[float], list[float]]:
    inputs = [x for name in _deep(visit) for x in values[name]]
    hidden = [math.tanh(_dot(values[f"deep:hidden:{unit}"], inputs)) for unit in range(HIDDEN)]
    score = values["wide:bias"][0] + sum(values[name][0] for name in _wide(visit))
    score += _dot(values["deep:output"], hidden)
    return 1.0 / (1.0 + math.exp(-score)), inputs, hidden


def _backward(
    values: Vectors, visit: Visit, inputs: list[float], hidden: list[float], error: float, total: Vectors
) -> None:
    total["wide:bias"][0] += error
    for name in _wide(visit):
        total[name][0] += error
    into_inputs = [0.0] * len(inputs)
    for unit, active in enumerate(hidden):
        total["deep:output"][unit] += error * active
        slope = error * values["deep:output"][unit] * (1.0 - active * active)
        weights, gradient = values[f"deep:hidden:{unit}"], total[f"deep:hidden:{unit}"]
        for i, x in enumerate(inputs):
            gradient[i] += slope * x
            into_inputs[i] += slope * weights[i]
    for field, name in enumerate(_deep(visit)):
        for i in range(EMBEDDING):
            total[name][i] += into_inputs[field * EMBEDDING + i]


def _wide(visit: Visit) -> tuple[str, str, str, str]:
    age, city, item = f"age={visit.age}", f"city={visit.city}", f"item={visit.item}"
    return f"wide:{age}", f"wide:{city}", f"wide:{item}", f"wide:{age}&{item}"


def _deep(visit: Visit) -> tuple[str, str, str]:
    return f"deep:age={visit.age}", f"deep:city={visit.city}", f"deep:item={visit.item}"


def _dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
