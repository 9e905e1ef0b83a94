import pytest

from muster.agent.gpu_models import model_name
from muster.agent.gpu_tools import parse_nvidia_facts, parse_nvidia_loads, parse_rocm_facts, parse_rocm_loads
from muster.agent.gpu_values import Gpu, GpuLoad
from muster.agent.gpus import find_gpus, parse_fake

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
    assert parse_nvidia_loads("0, 97, 1024, 81920, 65, 301.50\n1, [N/A], 0, 15360, 40, [Not Supported]\n") == [
        GpuLoad(0, 97.0, 1 << 30, 80 << 30, 65.0, 301.5),
        GpuLoad(1, None, 0, 15 << 30, 40.0, None),
    ]


def test_rocm_smi_json_is_read() -> None:
    text = """{"card0": {"Unique ID": "0xabc", "Card Series": "AMD Instinct MI250X", "GPU use (%)": "12",
        "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "11096064",
        "Temperature (Sensor edge) (C)": "33.0", "Average Graphics Package Power (W)": "91.0"},
        "system": {"Driver version": "6.1"}}"""
    assert parse_rocm_facts(text) == [Gpu(0, "0xabc", "MI250X", 68702699520)]
    assert parse_rocm_loads(text) == [GpuLoad(0, 12.0, 11096064, 68702699520, 33.0, 91.0)]
    assert parse_rocm_facts("") == []
