"""Symbols in place of addresses resolve to what the tasks would have been composed with."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.domain.gangs import make_gang
from muster.domain.specs import Framework, JobSpec
from muster.launch.composing import compose, ports_needed
from muster.launch.symbols import assign_symbols, host_symbol, port_symbol, resolve, resolve_request
from tests.unit.launch.gangs import placed, role, spec

pytestmark = pytest.mark.fast
JOBS = [
    spec(role("ps", 2), role("worker", 2), framework=Framework.PADDLE),
    spec(role("worker", 3, ports=2), framework=Framework.TORCH),
    spec(role("ps", 1), role("worker", 2), framework=Framework.TENSORFLOW),
    spec(role("worker", 2), framework=Framework.JAX),
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: str(job.framework))
def test_resolved_symbols_are_what_placed_tasks_get(job: JobSpec) -> None:
    tasks = placed(job)
    gang = make_gang("j1", "ada", "local", 1, job, tasks)
    counts = {task.id: ports_needed(job, job.role(task.role), task.index) for task in tasks}
    unplaced = replace(
        gang, tasks=tuple(replace(one, placement=replace(one.placement, ports=())) for one in gang.tasks)
    )
    symbolic = compose(replace(gang, tasks=assign_symbols(unplaced, counts)))
    hosts = {task.rank: task.placement.address for task in tasks}
    ports = {task.rank: task.placement.ports for task in tasks}
    resolved = [resolve_request(request, hosts, ports) for request in symbolic.requests]
    assert resolved == list(compose(gang).requests)


def test_a_variable_of_the_user_that_looks_like_a_symbol_stays() -> None:
    text = str(port_symbol(0, 0))
    job = spec(role("worker", 1), env={"STEPS": text})
    gang = make_gang("j1", "ada", "local", 1, job, placed(job))
    (request,) = compose(gang).requests
    assert resolve_request(request, {0: "n1"}, {0: [80]}, literal={"STEPS"}).env["STEPS"] == text


@given(st.text(alphabet="0123456789.,:/- abc"))
def test_text_without_symbols_is_left_alone(text: str) -> None:
    assert resolve(text, {0: "n1"}, {}) == text


@given(st.integers(0, 99_999), st.integers(0, 999))
def test_every_rank_and_position_has_a_symbol_of_its_own(rank: int, position: int) -> None:
    ports = {rank: [0] * position + [4711]}
    assert resolve(f"{host_symbol(rank)}:{port_symbol(rank, position)}", {rank: "n7"}, ports) == "n7:4711"
    assert resolve(f"1{port_symbol(rank, position)}", {}, ports) == f"1{port_symbol(rank, position)}"
