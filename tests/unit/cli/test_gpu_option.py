import click
import pytest

from muster.cli.gpu_option import GpuWish, combined, parse_gpus

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("2", GpuWish(2)),
        ("0.5", GpuWish(0.5)),
        ("reuse", GpuWish(0.2)),
        ("A100", GpuWish(None, "A100")),
        ("A100:2", GpuWish(2, "A100")),
        ("A100:0.5", GpuWish(0.5, "A100")),
        ("A100-SXM4-80GB:8", GpuWish(8, "A100-SXM4-80GB")),
        ("3090:2", GpuWish(2, "3090")),
    ],
)
def test_gpus_are_a_number_a_model_or_both(text: str, wish: GpuWish) -> None:
    assert parse_gpus(text) == wish


@pytest.mark.parametrize("text", ["A100:", "half", "A100:many", "A100:1.5", "1.5", "-1", ""])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^expected .*MODEL:N such as A100:2$"):
        parse_gpus(text)


def test_a_number_before_the_model_is_told_the_right_order() -> None:
    with pytest.raises(ValueError, match="expected the model before the number, as MODEL:N: A100:2"):
        parse_gpus("2:A100")


def test_a_type_completes_a_number_and_means_one_gpu_alone() -> None:
    assert combined(GpuWish(2), "A100") == GpuWish(2, "A100")
    assert combined(None, "A100") == GpuWish(None, "A100")
    assert combined(GpuWish(2, "A100"), "a100") == GpuWish(2, "A100")


def test_two_types_contradict_each_other() -> None:
    with pytest.raises(click.UsageError, match="--gpu asks for A100 and --gpu-type for V100"):
        combined(GpuWish(2, "A100"), "V100")
