"""What a task left: listed by patterns, read in pieces, never anything outside its working folder."""

import os
from pathlib import Path
from typing import Any

import pytest

from muster.agent.tasks import outputs

from .driver import Agent, Refused


def listed(agent: Agent, task: str, *patterns: str) -> list[str]:
    return [file["path"] for file in agent.ask("outputs_list", task=task, patterns=list(patterns))["files"]]


def content(agent: Agent, task: str, path: str, **fields: Any) -> bytes:
    answer = agent.ask("outputs_read", **{"task": task, "path": path, "offset": 0, "limit": 1000, **fields})
    return bytes(answer["data"])


SCRIPT = (
    "mkdir -p model/deep logs; echo w > model/w; echo d > model/deep/d; echo {} > metrics.json; echo 1 > logs/a.csv"
)


def test_folders_files_and_globs_are_found(agent: Agent) -> None:
    agent.run("t1", "/bin/sh", "-c", SCRIPT + "; echo t > logs/a.txt; echo n > model.txt")
    assert listed(agent, "t1", "model/") == ["model/deep/d", "model/w"]
    assert listed(agent, "t1", "metrics.json", "logs/*.csv") == ["logs/a.csv", "metrics.json"]
    assert listed(agent, "t1", "**/d", "m*") == ["metrics.json", "model.txt", "model/deep/d", "model/w"]
    assert listed(agent, "t1", "metrics.json/", "absent") == []
    assert content(agent, "t1", "model/w") == b"w\n"
    assert content(agent, "t1", "metrics.json", offset=1, limit=1) == b"}"


def test_links_that_lead_out_are_neither_told_nor_read(agent: Agent, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    script = (
        f"mkdir out real; echo r > real/r; ln -s {secret} out/s; ln -s / out/root; ln -s ../real/r out/r; ln -s x out/x"
    )
    agent.run("t1", "/bin/sh", "-c", script)
    assert listed(agent, "t1", "out/", "**") == ["out/r", "real/r"]
    assert content(agent, "t1", "out/r") == b"r\n"
    for path in ("out/s", f"out/root{secret}", "out/x", "out"):
        with pytest.raises(Refused) as refused:
            content(agent, "t1", path)
        assert refused.value.code == "system"


@pytest.mark.parametrize("path", ["../log", "/etc/passwd", "a/../../log", "", "a\0"])
def test_paths_that_lead_out_are_refused(agent: Agent, path: str) -> None:
    agent.run("t1", "/bin/true")
    with pytest.raises(Refused) as refused:
        content(agent, "t1", path)
    assert refused.value.code == "bad-request"
    with pytest.raises(Refused):
        listed(agent, "t1", path)


def test_pipes_are_left_out_and_a_task_put_aside_still_has_its_outputs(agent: Agent) -> None:
    agent.run("t1", "/bin/sh", "-c", "mkfifo model; echo kept > kept")
    agent.ask("retire", tasks=["t1"])
    assert listed(agent, "t1", "*") == ["kept"]
    assert listed(agent, "never-there", "*") == []


def test_many_files_come_in_pages(tmp_path: Path) -> None:
    names = sorted(f"f{number}" for number in range(outputs.PAGE + 3))
    for name in names:
        (tmp_path / name).touch()
    found: list[str] = []
    while True:
        answer = outputs.page(str(tmp_path), [outputs.Pattern("*")], found[-1] if found else "")
        found += [file["path"] for file in answer["files"]]
        if not answer["more"]:
            break
    assert found == names


def test_names_that_are_no_text_are_counted_not_told(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe")).touch()
    answer = outputs.page(str(tmp_path), [outputs.Pattern("**")], "")
    assert (answer["files"], answer["skipped"]) == ([], 1)
