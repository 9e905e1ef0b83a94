"""Which cards nobody should be given: what a sample says, and what a hello does."""

from typing import Any

import pytest

from muster.backends.agents.gpu_health import VANISHED, gpu_alerts, known_devices, out_of_service
from muster.domain.resources import Device

pytestmark = pytest.mark.fast

TWO = (Device(0, "A100", "u0"), Device(1, "A100", "u1"))


def a_card(index: int, **facts: Any) -> dict[str, Any]:
    return {"index": index, "ecc_errors": 0, "foreign_pids": [], "missing": False, **facts}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, ""),
        ({"ecc_errors": None}, ""),
        ({"missing": True}, VANISHED),
        ({"ecc_errors": 1}, "1 memory error that ECC could not correct: reset the GPU or replace it"),
        ({"ecc_errors": 3}, "3 memory errors that ECC could not correct: reset the GPU or replace it"),
        (
            {"foreign_pids": [{"pid": 7, "name": "python3"}]},
            "in use by python3 (pid 7), which Muster did not start",
        ),
        (
            {"foreign_pids": [{"pid": pid, "name": "x"} for pid in range(5)]},
            "in use by x (pid 0), x (pid 1), x (pid 2) and 2 more, which Muster did not start",
        ),
        ({"missing": True, "ecc_errors": 3}, VANISHED),
    ],
)
def test_a_card_is_out_of_service_for_a_reason(facts: dict[str, Any], reason: str) -> None:
    found = out_of_service([a_card(0, **facts), a_card(1)], TWO)
    assert found == ({0: reason} if reason else {})
    assert len(gpu_alerts(found)) == len(found)


def test_a_card_that_no_sample_tells_of_has_vanished() -> None:
    assert out_of_service([a_card(0)], TWO) == {1: VANISHED}


def test_a_card_stays_out_of_service_over_a_new_connection() -> None:
    before = (TWO[0], Device(1, "A100", "u1", out_of_service="bad"))
    assert known_devices(before, TWO) == before


def test_a_card_that_has_gone_keeps_its_place() -> None:
    assert known_devices(TWO, TWO[1:]) == (Device(0, "A100", "u0", out_of_service=VANISHED), TWO[1])


def test_a_card_that_has_gone_makes_way_when_drivers_count_anew() -> None:
    told = (Device(0, "A100", "u1"),)
    assert known_devices(TWO, told) == (told[0], Device(1, "A100", "u0", out_of_service=VANISHED))


def test_a_card_that_was_replaced_is_not_missed() -> None:
    told = (Device(0, "H100", "new"), TWO[1])
    assert known_devices(TWO, told) == told


def test_a_node_that_is_new_has_what_it_says() -> None:
    assert known_devices((), TWO) == TWO
