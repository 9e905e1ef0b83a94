"""Changes of a spec: their short keys, and what is said of a key that does not exist."""

from dataclasses import replace

import pytest

from muster.domain.errors import Invalid
from muster.wire.spec_patch import changed_spec
from muster.wire.specs import read_spec

pytestmark = pytest.mark.fast

SPEC = read_spec("name: a\ncommand: x")


@pytest.mark.parametrize(
    ("key", "guess"), [("cpus", "cpu"), ("gups", "gpus"), ("worker", "workers"), ("piority", "priority")]
)
def test_an_unknown_key_is_refused_with_the_nearest_and_all_valid_ones(key: str, guess: str) -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(SPEC, {key: 2})
    [problem] = refused.value.problems
    assert (problem.path, problem.message) == (key, "unknown key")
    assert problem.hint.startswith(f"did you mean {guess}? valid keys: gpu, gpus, gpuType, cpu, memory, workers, vc, ")
    assert "timeLimit" in problem.hint


def test_a_key_like_no_other_is_refused_with_all_valid_ones_and_the_other_problems() -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(SPEC, {"zzz": 2, "resources.cpuz": 1})
    hints = {problem.path: problem.hint for problem in refused.value.problems}
    assert hints["zzz"].startswith("valid keys: gpu, ")
    assert hints["roles.worker.resources.cpuz"] == "did you mean cpu?"


TEMPLATE = """
name: a
params: {lr: 0.1, opt: adam}
env: {OPT: "${params.opt}", PLAIN: x}
roles:
  ps: {command: [serve, "--lr=${params.lr}"]}
  worker: {replicas: 2, command: "train --lr ${params.lr} $HOME", env: {LR: "${params.lr}"}}
"""


@pytest.mark.parametrize("changes", [({"params.lr": 0.5}, {}), ({}, {"lr": 0.5})])
def test_a_changed_param_is_put_into_commands_and_variables_anew(
    changes: tuple[dict[str, object], dict[str, object]],
) -> None:
    changed = changed_spec(read_spec(TEMPLATE), *changes)
    assert changed.params == {"lr": 0.5, "opt": "adam"}
    assert changed.role("ps").command == ("serve", "--lr=0.5")
    assert changed.role("worker").command == ("/bin/sh", "-c", "train --lr 0.5 $HOME")
    assert changed.role("worker").env == {"LR": "0.5"}
    assert changed.env == {"OPT": "adam", "PLAIN": "x"}
    assert changed_spec(changed, {"params.lr": 0.1}) == read_spec(TEMPLATE), "it can be changed again"


def test_a_changed_command_is_another_template() -> None:
    changed = changed_spec(read_spec(TEMPLATE), {"roles.worker.command": "train ${params.opt}"}, {"opt": "sgd"})
    assert changed.role("worker").command[-1] == "train sgd"
    assert changed.role("ps").command_template == ("serve", "--lr=${params.lr}")


def test_a_param_that_the_job_does_not_have_is_refused_with_all_other_problems() -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(read_spec(TEMPLATE), {"priority": "huge", "tiemLimit": 1}, {"lrr": 1})
    assert {problem.path: problem.hint for problem in refused.value.problems}["params.lrr"] == "did you mean lr?"
    assert {problem.path for problem in refused.value.problems} == {"priority", "tiemLimit", "params.lrr"}


def test_a_param_that_the_job_does_not_have_cannot_be_set_by_its_path_either() -> None:
    with pytest.raises(Invalid) as refused:
        changed_spec(read_spec(TEMPLATE), {"params.lrr": 0.5})
    assert [str(problem) for problem in refused.value.problems] == [
        "params.lrr: the job has no such param (did you mean lr?)"
    ]


def test_a_param_that_a_changed_command_uses_can_be_set_by_its_path() -> None:
    changed = changed_spec(read_spec(TEMPLATE), {"roles.worker.command": "train ${params.warmup}", "params.warmup": 5})
    assert changed.role("worker").command[-1] == "train 5"


def test_the_value_of_a_param_is_never_taken_for_a_template() -> None:
    spec = read_spec("name: a\nparams: {x: '${params.y}'}\ncommand: echo ${params.x}")
    changed = changed_spec(spec, {"priority": "high"})
    assert changed.roles[0].command[-1] == "echo ${params.y}"


def test_a_job_that_was_stored_without_a_template_keeps_its_commands() -> None:
    spec = read_spec(TEMPLATE)
    old = replace(
        spec, env_template={}, roles=tuple(replace(r, command_template=(), env_template={}) for r in spec.roles)
    )
    changed = changed_spec(old, {"params.lr": 0.5})
    assert (changed.params["lr"], changed.role("ps").command) == (0.5, ("serve", "--lr=0.1"))
