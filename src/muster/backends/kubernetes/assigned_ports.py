"""The ports of the tasks of a gang, which are known before its pods exist.

Every pod has an address of its own, but ports differ all the same, because programs may take it for granted. Only
Paddle's older launcher takes the contrary for granted: it expects the processes of every task at the same ports, the
first of which is the PADDLE_PORT of the job.
"""

from collections.abc import Iterator, Mapping

from muster.domain.gangs import Gang
from muster.domain.specs import Framework
from muster.launch.frameworks.paddle import LAUNCHER_PORTS

_FIRST, _LAST = 36000, 65000


def assigned_ports(gang: Gang, counts: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The ports of each task by its id. `counts` says how many each one needs."""
    of_each = _same if gang.spec.framework is Framework.PADDLE else _different
    return dict(of_each(gang, counts))


def _same(gang: Gang, counts: Mapping[str, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Further ports of a task lie behind those that the launcher may use."""
    for task in gang.tasks:
        further = range(_FIRST + LAUNCHER_PORTS, _FIRST + LAUNCHER_PORTS + max(0, counts.get(task.id, 0) - 1))
        yield task.id, (_FIRST, *further) if counts.get(task.id) else ()


def _different(gang: Gang, counts: Mapping[str, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    first = 0
    for task in gang.tasks:
        count = counts.get(task.id, 0)
        yield task.id, tuple(_FIRST + number % (_LAST - _FIRST) for number in range(first, first + count))
        first += count
