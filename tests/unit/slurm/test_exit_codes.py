"""Exit codes in all forms of Slurm's commands."""

from typing import Any

import pytest

from muster.backends.slurm.answers.exit_codes import JobExit, read_exit, read_json_exit, read_status

pytestmark = pytest.mark.fast


def number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


@pytest.mark.parametrize(
    ("text", "exit"),
    [
        ("0:0", JobExit(0)),
        ("1:0", JobExit(1)),
        ("137:0", JobExit(137)),
        ("0:9", JobExit(None, 9)),
        ("0:15", JobExit(None, 15)),
        ("1:9", JobExit(1, 9)),
        ("0:125", JobExit(is_oom=True)),
        ("1:125", JobExit(1, is_oom=True)),
        ("0:64", JobExit(None, 64)),
        ("0:65", JobExit(0)),
        (" 3:0 ", JobExit(3)),
        ("", None),
        ("N/A", None),
        ("3", None),
        ("a:b", None),
    ],
)
def test_code_and_signal_with_a_colon(text: str, exit: JobExit | None) -> None:
    assert read_exit(text) == exit


@pytest.mark.parametrize(
    ("status", "exit"),
    [
        (0, JobExit(0)),
        (768, JobExit(3)),
        (9, JobExit(None, 9)),
        (9 | 0x80, JobExit(None, 9)),
        (253, JobExit(is_oom=True)),
        (125, JobExit(is_oom=True)),
        (0xFFFFFFFE, None),
        (0xFFFFFFFF, None),
        (-1, None),
    ],
)
def test_wait_status(status: int, exit: JobExit | None) -> None:
    assert read_status(status) == exit


@pytest.mark.parametrize(
    ("value", "exit"),
    [
        (768, JobExit(3)),
        (number(768), JobExit(3)),
        ({"set": False, "infinite": False, "number": 0}, None),
        ({"status": "SUCCESS", "return_code": 0}, JobExit(0)),
        ({"status": "ERROR", "return_code": 2}, JobExit(2)),
        ({"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "KILL"}}, JobExit(None, 9)),
        ({"status": ["ERROR"], "return_code": number(2)}, JobExit(2)),
        (
            {"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(15), "name": "SIGTERM"}},
            JobExit(None, 15),
        ),
        (
            {
                "status": ["SUCCESS"],
                "return_code": number(0),
                "signal": {"id": {"set": False, "number": 0}, "name": ""},
            },
            JobExit(0),
        ),
        ({"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(125)}}, JobExit(is_oom=True)),
        ({"status": ["PENDING"], "return_code": number(0)}, None),
        ({"status": "INVALID", "return_code": 0}, None),
        (None, None),
        ("", None),
    ],
)
def test_objects_of_json(value: Any, exit: JobExit | None) -> None:
    assert read_json_exit(value) == exit
