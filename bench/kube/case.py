"""The cost of Muster's operator, with its bars."""

from collections.abc import Sequence

from bench.kube.jobs import COLLECTIVE, PARAMETER_SERVERS
from bench.kube.operators import Operator, muster_operator
from bench.kube.rounds import Round, ready_bench
from bench.muster.case import Case, Figures
from bench.scale import Scale
from bench.table import Bar, Row, Sheet, Unit, at_most

_PS_WRITES = ("operator: API writes of a job with 2 ps and 2 workers", at_most(14, aim=10))
_COLLECTIVE_WRITES = ("operator: API writes of a collective job with 2 workers", at_most(9))
_BACKWARD = ("operator: status changes back to an earlier phase", at_most(0))
_MEMORY = ("operator: peak memory", at_most(150))
_FLAT = ("operator: CPU per job of the many over that of the few", at_most(1.2))


def measure_operator(operator: Operator, scale: Scale) -> list[Row | Sheet]:
    """The rows of any operator. The small rounds come first, so that their figures are those of a fresh one."""
    with ready_bench(operator) as bench:
        servers, collective = bench.run(PARAMETER_SERVERS, 1), bench.run(COLLECTIVE, 1)
        few = bench.run(PARAMETER_SERVERS, scale.operator_few)
        many = bench.run(PARAMETER_SERVERS, scale.operator_many)
    rounds = (servers, collective, few, many)
    return [
        Row(_PS_WRITES[0], Unit.COUNT, servers.writes_per_job, bar=_PS_WRITES[1], note=_courses(servers)),
        Row(_COLLECTIVE_WRITES[0], Unit.COUNT, collective.writes_per_job, bar=_COLLECTIVE_WRITES[1]),
        Row(_BACKWARD[0], Unit.COUNT, sum(found.backward for found in rounds), bar=_BACKWARD[1]),
        *_crowd(few),
        *_crowd(many),
        Row(_FLAT[0], Unit.TIMES, many.cpu_s_per_job / few.cpu_s_per_job, bar=_FLAT[1]),
        Row(_MEMORY[0], Unit.MEGABYTES, many.peak_bytes / 1e6, bar=_MEMORY[1], note=f"{many.jobs} jobs at once"),
        _sheet(rounds),
    ]


def _crowd(found: Round) -> list[Row]:
    what = f"operator: {found.jobs} jobs with 2 ps and 2 workers at once"
    return [
        Row(f"{what}, until all have ended", Unit.SECONDS, found.seconds),
        Row(f"{what}, CPU per job", Unit.MILLISECONDS, found.cpu_s_per_job * 1e3),
        Row(f"{what}, API writes per job", Unit.COUNT, found.writes_per_job),
    ]


def _courses(found: Round) -> str:
    return "; ".join(" > ".join(filter(None, course)) for course in sorted(found.courses))


def _sheet(rounds: Sequence[Round]) -> Sheet:
    kinds = sorted({kind for found in rounds for kind in found.writes})
    head = ["API writes per job", "2+2", "collective 2", *(f"{found.jobs} x 2+2" for found in rounds[2:])]
    lines = [[kind, *(f"{found.writes[kind] / found.jobs:.2f}" for found in rounds)] for kind in kinds]
    return Sheet("What the operator writes", [head, *lines])


def _run(scale: Scale, figures: Figures) -> Sequence[Row | Sheet]:
    return measure_operator(muster_operator(), scale)


def _bars(figures: Figures) -> Sequence[Row]:
    units: dict[tuple[str, Bar], Unit] = {_FLAT: Unit.TIMES, _MEMORY: Unit.MEGABYTES}
    expected = (_PS_WRITES, _COLLECTIVE_WRITES, _BACKWARD, _FLAT, _MEMORY)
    return [Row(row[0], units.get(row, Unit.COUNT), bar=row[1]) for row in expected]


CASE = Case("operator", "writes, CPU and memory of the operator for PaddleJobs", _run, _bars)
