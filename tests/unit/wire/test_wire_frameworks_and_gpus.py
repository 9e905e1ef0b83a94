"""The framework that a command gives away, and GPUs that are asked for by their model alone."""

import json

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import Framework
from muster.wire.specs import read_spec, spec_to_wire

pytestmark = pytest.mark.fast


def test_the_framework_comes_from_the_launcher_and_the_spec_says_why() -> None:
    spec = read_spec("name: a\ncommand: torchrun train.py\nreplicas: 2")
    assert (spec.framework, spec.framework_reason) == (Framework.TORCH, "the command runs torchrun")


@pytest.mark.parametrize("named", ["plain", "none", "paddle", "torch"])
def test_a_framework_that_is_named_always_wins(named: str) -> None:
    spec = read_spec(f"name: a\ncommand: torchrun train.py\nreplicas: 2\nframework: {named}")
    assert (spec.framework, spec.framework_reason) == (Framework(named), "")


@pytest.mark.parametrize("command", ["torchrun train.py", "[torchrun, train.py]", "python train.py | tee log"])
def test_a_guessed_framework_and_a_line_survive_being_written_and_read(command: str) -> None:
    spec = read_spec(f"name: a\ncommand: {command}\nreplicas: 2")
    assert read_spec(json.dumps(spec_to_wire(spec))) == spec


@pytest.mark.parametrize(
    ("written", "gpus", "models"),
    [
        ("{gpuType: A100}", 1000, ("A100",)),
        ("{gpuType: [A100, V100]}", 1000, ("A100", "V100")),
        ("{gpuType: A100, gpu: 2}", 2000, ("A100",)),
        ("{gpuType: A100, gpu: 0.5}", 500, ("A100",)),
        ("{gpuType: A100, gpu: 0}", 0, ()),
        ("{gpuType: []}", 0, ()),
        ("{cpu: 1}", 0, ()),
    ],
)
def test_a_gpu_type_alone_means_one_gpu(written: str, gpus: int, models: tuple[str, ...]) -> None:
    for text in (f"resources: {written}\ncommand: x", f"roles: {{worker: {{command: x, resources: {written}}}}}"):
        resources = read_spec(f"name: a\n{text}").roles[0].resources
        assert (resources.gpu_m, resources.gpu_models) == (gpus, models)


def test_variables_that_together_are_more_than_linux_passes_on_are_refused_before_anything_starts() -> None:
    env = {f"V{number}": "${params.big}" for number in range(30)}
    with pytest.raises(Invalid) as refused:
        read_spec(json.dumps({"name": "a", "command": "x", "env": env, "params": {"big": "x" * 60_000}}))
    assert [(one.path, one.message) for one in refused.value.problems] == [
        ("env", "the command and variables of one task have 1758 KiB")
    ]
