import pytest

from muster.domain.gpu_models import advice

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("A100", "A100-SXM4-80GB"),
        ("nvidia-a100", "A100"),
        ("RTX3090", "RTX-3090"),
        ("3090", "GeForce RTX 3090"),
        ("A1OO", "A100"),
        ("a100-80g", "A100-SXM4-80GB"),
    ],
)
def test_another_name_of_the_same_model_is_suggested(asked: str, known: str) -> None:
    assert advice([asked], ["T4", known]) == f"did you mean {known}?"


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("H100", "A100"),
        ("A10", "A100"),
        ("L40", "L40S"),
        ("V100", "A100"),
        ("RTX 3080", "RTX 3080 Ti"),
        ("A100-40GB", "A100-SXM4-80GB"),
        ("RTX 6000", "RTX A6000"),
    ],
)
def test_a_different_model_is_never_suggested(asked: str, known: str) -> None:
    assert advice([asked], [known]) == "ask for one of these models, or leave gpuType out"
