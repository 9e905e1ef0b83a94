"""Reading what people type after `--set`, `--param` and `--env`; saying times as people do; naming ad-hoc jobs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.cli.adhoc_job import RunOptions, as_job, command_of, folder_to_send, name_from
from muster.cli.key_values import (
    parse_assignments,
    parse_secrets,
    parse_texts,
    parse_value,
    parse_variables,
    read_env_file,
)
from muster.cli.tables.ages import ago

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("0.01", 0.01),
        ("1e-3", 0.001),
        ("-2", -2),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("2Gi", "2Gi"),
        ("02:30:00", "02:30:00"),
        ("007", "007"),
        ("on", "on"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ('"4"', "4"),
        ("[1, 2]", [1, 2]),
        ("[a, b]", ["a", "b"]),
        ("{max: 3}", {"max": 3}),
        ("[unclosed", "[unclosed"),
        ("python train.py", "python train.py"),
        ("", ""),
    ],
)
def test_values_read_as_in_yaml(text: str, value: Any) -> None:
    read = parse_value(text)
    assert read == value
    assert type(read) is type(value)


@given(st.text())
def test_any_value_is_read_as_something(text: str) -> None:
    parse_value(text)


def test_value_may_hold_equal_signs() -> None:
    assert parse_assignments(["env.A=b=c"], "--set") == {"env.A": "b=c"}


def test_environment_stays_text() -> None:
    assert parse_texts(["N=3", "E="], "--env") == {"N": "3", "E": ""}


@pytest.mark.parametrize("item", ["novalue", "=x", " =x"])
def test_what_is_no_assignment_is_wrong_usage(item: str) -> None:
    with pytest.raises(click.BadParameter, match="KEY=VALUE"):
        parse_assignments([item], "--set")


def test_env_file_has_comments_exports_and_quotes() -> None:
    text = "# comment\n\nA=1\nexport B='two words'\nC=\"x=y\"\n"
    assert read_env_file(text, ".env", {}) == {"A": "1", "B": "two words", "C": "x=y"}


def test_wrong_line_of_an_env_file_is_named() -> None:
    with pytest.raises(click.BadParameter, match=r"\.env line 2"):
        read_env_file("A=1\nno sense\n", ".env", {})


NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s ago"),
        (119, "119s ago"),
        (120, "2m ago"),
        (7200, "2h ago"),
        (86400 * 3, "3d ago"),
        (-3 * 86400, "in 3d"),
        (-0.5, "0s ago"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == text


def test_time_that_never_was_has_no_age() -> None:
    assert ago(None, NOW) is None


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("python", "train.py"), "train"),
        (("python3.11", "-u", "src/Train_v2.py", "--lr", "1"), "train-v2"),
        (("LR=1", "./run.sh"), "run"),
        (("echo hello | wc",), "echo"),
        (("bash", "-c"), "run"),
        (("it's",), "it-s"),
        (("训练",), "run"),
    ],
)
def test_job_is_named_after_its_command(words: tuple[str, ...], name: str) -> None:
    assert name_from(words) == name


def test_quoted_line_is_for_the_shell_and_words_are_not() -> None:
    assert command_of(("echo $A | wc",)) == "echo $A | wc"
    assert command_of(("ls",)) == ["ls"]
    assert command_of(("echo", "a b")) == ["echo", "a b"]


def test_gpus_go_to_workers_and_not_to_parameter_servers() -> None:
    spec = as_job(RunOptions(words=("python", "t.py"), workers=2, ps=1, gpu=4, cpu="2", name="x")).to_spec()
    assert spec["roles"]["worker"]["resources"] == {"cpu": "2", "gpu": 4}
    assert spec["roles"]["ps"]["resources"] == {"cpu": "2"}
    assert (spec["roles"]["worker"]["replicas"], spec["roles"]["ps"]["replicas"]) == (2, 1)


def test_names_made_for_two_runs_differ() -> None:
    asked = RunOptions(words=("python", "t.py"))
    assert as_job(asked).name != as_job(asked).name


@pytest.mark.parametrize("here", ["/", "/home/li"])
def test_whole_homes_and_machines_are_not_sent(here: str) -> None:
    said: list[str] = []
    assert folder_to_send(None, Path(here), Path("/home/li"), said.append) is None
    assert "is not sent" in said[0]


def test_current_folder_is_sent_unless_another_is_named() -> None:
    here = Path("/home/li/code")
    assert folder_to_send(None, here, Path("/home/li"), print) == "/home/li/code"
    assert folder_to_send("/data", here, Path("/home/li"), print) == "/data"


def test_secrets_are_named_with_their_variables() -> None:
    job = as_job(RunOptions(words=("train.sh",), secrets={"wandb": "WANDB_API_KEY"}))
    assert job.to_spec()["secrets"] == [{"name": "wandb", "env": "WANDB_API_KEY"}]


@pytest.mark.parametrize("text", ["TOKEN", "TOKEN=", "=TOKEN"])
def test_a_secret_without_its_variable_is_refused_with_the_way_to_store_the_value(text: str) -> None:
    assert parse_secrets(["wandb=WANDB_API_KEY"]) == {"wandb": "WANDB_API_KEY"}
    with pytest.raises(click.BadParameter, match=r"is not NAME=VARIABLE.*never written here; `muster secret set"):
        parse_secrets([text])


def test_a_variable_without_a_value_has_that_of_the_caller() -> None:
    assert parse_variables(["A=1", "HOME", "E="], {"HOME": "/home/amy"}) == {"A": "1", "HOME": "/home/amy", "E": ""}
    assert read_env_file("export HOME\n# x\nQ\n", ".env", {"HOME": "/h", "Q": '"as it is"'}) == {
        "HOME": "/h",
        "Q": '"as it is"',
    }


def test_a_variable_that_the_caller_does_not_have_is_named() -> None:
    with pytest.raises(click.BadParameter, match="WANDB_MODE is not set in your environment"):
        parse_variables(["WANDB_MODE"], {})
    with pytest.raises(click.BadParameter, match=r"\.env line 2: HF_HOME is not set in your environment"):
        read_env_file("A=1\nHF_HOME\n", ".env", {})
