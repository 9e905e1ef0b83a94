from pathlib import Path

import pytest

from muster.agent.gpus.discovery import find_gpus
from muster.agent.gpus.fake import parse_fake, parse_fake_file
from muster.agent.gpus.models import model_name
from muster.agent.gpus.values import Gpu, GpuLoad
from muster.agent.gpus.vendor_tools import (
    parse_nvidia_facts,
    parse_nvidia_loads,
    parse_nvidia_processes,
    parse_rocm_facts,
    parse_rocm_loads,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("product", "model"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 NVL", "H100"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("A100-PCIE-40GB", "A100"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("Tesla P100-PCIE-16GB", "P100"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 3090", "RTX3090"),
        ("NVIDIA GeForce RTX 3090 Ti", "RTX3090Ti"),
        ("GeForce GTX 1080 Ti", "GTX1080Ti"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX4090"),
        ("NVIDIA RTX A6000", "A6000"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"),
        ("Quadro RTX 8000", "RTX8000"),
        ("NVIDIA TITAN RTX", "TITANRTX"),
        ("AMD Instinct MI250X/MI250", "MI250X"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("NVIDIA", "NVIDIA"),
    ],
)
def test_model_name_of_product(product: str, model: str) -> None:
    assert model_name(product) == model


def test_pretended_gpus_are_numbered_through_with_usual_or_given_memory() -> None:
    found = parse_fake("2xRTX3090, 1xT4:8Gi,1xUnheardOf")
    assert [(gpu.index, gpu.model, gpu.memory_bytes >> 30) for gpu in found] == [
        (0, "RTX3090", 24),
        (1, "RTX3090", 24),
        (2, "T4", 8),
        (3, "UnheardOf", 16),
    ]
    assert len({gpu.uuid for gpu in found}) == 4
    assert parse_fake("") == []


@pytest.mark.parametrize("text", ["A100", "x8", "8xA100:80GB", "-1xA100"])
def test_pretended_gpus_written_wrongly_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="MUSTER_FAKE_GPUS"):
        parse_fake(text)


def test_pretending_goes_before_every_real_source() -> None:
    found = find_gpus({"MUSTER_FAKE_GPUS": "1xA100"})
    assert (found.source.source, len(found.gpus)) == ("fake", 1)


def test_nvidia_smi_tables_are_read_and_unknown_figures_left_out() -> None:
    facts = "0, GPU-1a, NVIDIA A100-SXM4-80GB, 81920\n1, GPU-2b, Tesla T4, 15360\n\nNo devices were found\n"
    assert parse_nvidia_facts(facts) == [Gpu(0, "GPU-1a", "A100", 80 << 30), Gpu(1, "GPU-2b", "T4", 15 << 30)]
    loads = "0, GPU-1a, 97, 1024, 81920, 65, 301.50, 2\n1, GPU-2b, [N/A], 0, 15360, 40, [Not Supported], [N/A]\n"
    assert parse_nvidia_loads(loads) == {
        "GPU-1a": GpuLoad(0, 97.0, 1 << 30, 80 << 30, 65.0, 301.5, 2),
        "GPU-2b": GpuLoad(1, None, 0, 15 << 30, 40.0, None, None),
    }
    assert parse_nvidia_processes("GPU-1a, 17\nGPU-1a, 18\nGPU-2b, [N/A]\n\n") == {"GPU-1a": [17, 18]}


def test_rocm_smi_json_is_read() -> None:
    text = """{"card0": {"Unique ID": "0xabc", "Card Series": "AMD Instinct MI250X", "GPU use (%)": "12",
        "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "11096064",
        "Temperature (Sensor edge) (C)": "33.0", "Average Graphics Package Power (W)": "91.0"},
        "system": {"Driver version": "6.1"}}"""
    assert parse_rocm_facts(text) == [Gpu(0, "0xabc", "MI250X", 68702699520)]
    assert parse_rocm_loads(text) == [GpuLoad(0, 12.0, 11096064, 68702699520, 33.0, 91.0)]
    assert parse_rocm_facts("") == []


def test_pretended_gpus_of_a_file_have_what_its_lines_say() -> None:
    state = parse_fake_file(
        "3xA100  \n\n# what happened\nload 0 87 12Gi 65 210\necc 1 3\nprocess 1 17\nprocess 1 18\ngone 2\n"
    )
    assert state.loads[0] == GpuLoad(0, 87.0, 12 << 30, 80 << 30, 65.0, 210.0, 0)
    assert (state.loads[1].ecc_errors, state.loads[1].pids) == (3, (17, 18))
    assert state.gone == {2}
    assert parse_fake_file("").gpus == []


@pytest.mark.parametrize("line", ["broken 0", "ecc 9 1", "ecc 0", "load 0 87 lots 65 210", "gone"])
def test_a_line_of_the_file_that_means_nothing_is_an_error(line: str) -> None:
    with pytest.raises((ValueError, KeyError, IndexError)):
        parse_fake_file(f"1xA100\n{line}\n")


def test_pretended_gpus_of_a_file_are_read_again_each_time(tmp_path: Path) -> None:
    file = tmp_path / "gpus"
    file.write_text("2xT4\ngone 0\n")
    found = find_gpus({"MUSTER_FAKE_GPUS": f"@{file}"})
    assert [gpu.index for gpu in found.gpus] == [1]
    file.write_text("2xT4\n")
    assert [load.index for load in found.source.loads()] == [0, 1]
