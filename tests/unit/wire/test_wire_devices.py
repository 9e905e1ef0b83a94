"""`resources.devices`: extended resources in a job spec, and every mistake with its path and what is accepted."""

import pytest

from muster.domain.errors import Invalid, Problem
from muster.wire.spec_patch import changed_spec
from muster.wire.specs import read_spec, spec_to_wire

pytestmark = pytest.mark.fast
FPGA = "xilinx.com/fpga"


def a_text(devices: str) -> str:
    return f"name: a\ncommand: x\nresources: {{devices: {devices}}}"


def problem_of(text: str) -> Problem:
    with pytest.raises(Invalid) as refused:
        read_spec(text)
    (problem,) = refused.value.problems
    return problem


def test_devices_are_read_for_each_role_in_the_order_of_their_names() -> None:
    spec = read_spec(
        "name: a\nroles:\n  x: {command: x, resources: {devices: {xilinx.com/fpga: 1, example.com/dsp: 2}}}\n"
        "  y: {command: y}"
    )
    assert [role.resources.extended for role in spec.roles] == [(("example.com/dsp", 2), (FPGA, 1)), ()]
    assert spec_to_wire(spec)["roles"]["x"]["resources"]["devices"] == {"example.com/dsp": 2, FPGA: 1}


@pytest.mark.parametrize(
    ("devices", "hint"),
    [
        ("{nvidia.com/gpu: 1}", "GPUs are asked for by `gpu`"),
        ("{amd.com/gpu: 1}", "GPUs are asked for by `gpu`"),
        ("{kubernetes.io/batteries: 1}", "belong to Kubernetes itself"),
        ("{node.kubernetes.io/x: 1}", "belong to Kubernetes itself"),
        ("{requests.example.com/x: 1}", "Kubernetes does not accept the domain"),
        ("{fpga: 1}", "a domain and a name, such as xilinx.com/fpga"),
        ("{Xilinx.com/fpga: 1}", "a domain and a name"),
        ("{xilinx.com/fp ga: 1}", "a domain and a name"),
        ("{xilinx.com/a/b: 1}", "a domain and a name"),
        (f"{{xilinx.com/{'a' * 64}: 1}}", "a domain and a name"),
    ],
)
def test_names_that_are_no_extended_resources_are_refused_with_what_is_accepted(devices: str, hint: str) -> None:
    problem = problem_of(a_text(devices))
    assert problem.path == f"resources.devices.{devices[1:].partition(':')[0]}"
    assert hint in problem.hint
    assert problem.line == 3


@pytest.mark.parametrize("count", ["0", "-1", "0.5", "1025", "true", "null", "half", "[1]"])
def test_other_numbers_are_refused_with_what_is_accepted(count: str) -> None:
    problem = problem_of(a_text(f"{{{FPGA}: {count}}}"))
    assert problem.path == f"resources.devices.{FPGA}"
    assert "a whole number of devices from 1 to 1024" in problem.hint


@pytest.mark.parametrize("devices", ["xilinx.com/fpga", "[xilinx.com/fpga]", "2"])
def test_anything_but_a_mapping_is_refused_with_an_example(devices: str) -> None:
    problem = problem_of(a_text(devices))
    assert (problem.path, "{xilinx.com/fpga: 1}" in problem.hint) == ("resources.devices", True)


@pytest.mark.parametrize(
    "path", ["resources.devices.xilinx.com/fpga", "roles.worker.resources.devices.xilinx.com/fpga"]
)
def test_a_device_is_overridden_by_its_path_with_the_dots_in_its_name(path: str) -> None:
    text = "name: a\ncommand: x" if path.startswith("resources") else "name: a\nroles: {worker: {command: x}}"
    assert read_spec(text, overrides={path: 2}).role("worker").resources.extended == ((FPGA, 2),)


def test_a_waiting_job_is_given_other_devices() -> None:
    spec = read_spec(a_text("{xilinx.com/fpga: 2}"))
    changed = changed_spec(spec, {f"resources.devices.{FPGA}": 1, "resources.devices.example.com/dsp": 3})
    assert changed.role("worker").resources.extended == (("example.com/dsp", 3), (FPGA, 1))
    assert not changed_spec(spec, {"resources.devices": {}}).role("worker").resources.extended
