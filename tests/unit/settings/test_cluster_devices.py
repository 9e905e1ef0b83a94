"""Devices other than GPUs in cluster files: for every node, for one node, and every mistake with its line."""

from pathlib import Path

import pytest

from muster.backends.ssh.options import ssh_nodes
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid
from tests.parts.cluster_folders import cluster_folder

pytestmark = pytest.mark.fast
FPGA = "xilinx.com/fpga"


def read(folder: Path, text: str) -> PhysicalCluster:
    (folder / "local.yaml").write_text(text)
    (found,) = cluster_folder(folder).read().physical
    return found


def told(folder: Path, text: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read(folder, text)
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("written", "devices"),
    [
        ("/dev/xdma0", (("/dev/xdma0",),)),
        ("[/dev/xdma0, /dev/xdma1]", (("/dev/xdma0",), ("/dev/xdma1",))),
        (
            "[[/dev/vfio/vfio, /dev/vfio/7], [/dev/vfio/vfio, /dev/vfio/8]]",
            (("/dev/vfio/vfio", "/dev/vfio/7"), ("/dev/vfio/vfio", "/dev/vfio/8")),
        ),
    ],
)
def test_a_device_is_a_file_or_a_list_of_files(written: str, devices: object, tmp_path: Path) -> None:
    assert read(tmp_path, f"backend: local\ndevices: {{{FPGA}: {written}}}\n").devices == {FPGA: devices}


def test_a_node_has_its_own_devices_or_those_of_the_cluster(tmp_path: Path) -> None:
    text = f"""
name: lab
backend: ssh
devices: {{{FPGA}: /dev/xdma0}}
nodes:
- n1
- {{name: n2, devices: {{{FPGA}: [/dev/xdma0, /dev/xdma1]}}}}
- {{name: n3, devices: {{}}}}
"""
    lab = read(tmp_path, text)
    assert lab.devices == {FPGA: (("/dev/xdma0",),)}
    own = [node.devices for node in ssh_nodes(lab)]
    assert own == [None, {FPGA: (("/dev/xdma0",), ("/dev/xdma1",))}, {}]


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ("{fpga: /dev/xdma0}", "devices.fpga: 'fpga' is not a valid name (expected a domain and a name"),
        ("{nvidia.com/gpu: /dev/nvidia0}", "GPUs are asked for by `gpu`"),
        (f"{{{FPGA}: [xdma0]}}", "expected the path of a device file, such as /dev/xdma0"),
        (f"{{{FPGA}: /etc/passwd}}", "expected the path of a device file"),
        (f"{{{FPGA}: /dev/../etc/passwd}}", "expected the path of a device file"),
        (f"{{{FPGA}: '/dev/a,b'}}", "expected the path of a device file"),
        (f"{{{FPGA}: '/dev/a:b'}}", "expected the path of a device file"),
        (f"{{{FPGA}: [/dev/a, /dev/a]}}", "expected each device once"),
        (f"{{{FPGA}: []}}", f"devices.{FPGA}"),
        (f"{{{FPGA}: 2}}", f"devices.{FPGA}"),
        ("[/dev/a]", "devices"),
    ],
)
def test_mistakes_are_told_with_their_line(devices: str, words: str, tmp_path: Path) -> None:
    (problem,) = told(tmp_path, f"backend: local\ndevices: {devices}\n")
    assert problem.startswith("local.yaml, line 2: devices")
    assert words in problem
