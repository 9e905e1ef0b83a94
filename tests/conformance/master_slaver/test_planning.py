"""What the folder of a master/slaver task manager becomes: settings, a cluster, queued jobs and history."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from muster.client.errors import MusterError
from muster.client.master_slaver.folder import read_folder
from muster.client.master_slaver.planning import Plan, plan_import
from tests.conformance.master_slaver.old_folder import PASSWORD, SLAVER, task, write

pytestmark = pytest.mark.fast

FIRST, SECOND, THIRD = "23051810203012", "23051810203099", "23051811000000"


def planned(tmp_path: Path, log_times: dict[str, float] | None = None, **contents: Any) -> Plan:
    folder = read_folder(write(tmp_path / "master", **contents))
    return plan_import(folder, "lab", (log_times or {}).get)


def only(plan: Plan) -> dict[str, Any]:
    (spec,) = plan.queued
    return dict(spec)


def skipped(plan: Plan) -> list[str]:
    return [str(note) for note in plan.skipped]


def noted(plan: Plan, where: str) -> str:
    return next(str(note) for note in plan.notes if where in note.where)


def test_conf_and_node_list_become_settings_and_a_cluster_file(tmp_path: Path) -> None:
    plan = planned(tmp_path)

    assert plan.settings == {"logFile": "/home/lab/master/server_log.log"}
    assert plan.cluster == {
        "name": "lab",
        "backend": "ssh",
        "defaults": {"passwordFile": str(tmp_path / "master" / "psw"), "hostKeys": "first-use"},
        "folders": {name: {"path": f"/home/lab/{name}"} for name in ("data", "data_ssd", "envs")},
        "conda": "/home/lab/envs/miniconda3",
        "nodes": [
            {
                "name": "Slaver1",
                "host": "192.168.36.130",
                "user": "aaaaa",
                "gpus": 3,
                "gpuModels": ["RTX3090", "RTX3090", "RTX1080ti"],
            }
        ],
    }
    assert PASSWORD not in json.dumps(plan.document())


def test_every_setting_without_effect_is_said(tmp_path: Path) -> None:
    web = {"enabled": True, "host": "0.0.0.0", "port": 8080, "allow_register": True, "max_upload_mb": 512}
    plan = planned(tmp_path, web_info=web, colour="blue", nodes=[{**SLAVER, "rack": 3}])

    assert plan.settings["host"] == "0.0.0.0"
    assert plan.settings["port"] == 8080
    for where in ("train_log_path", "socket_info", "web_info.allow_register", "web_info.max_upload_mb", "colour"):
        assert "has no effect" in noted(plan, where), where
    assert "has no effect" in noted(plan, "node Slaver1: rack")
    assert "web_info.enabled" not in str(plan.notes)


def test_a_waiting_task_becomes_a_queued_job(tmp_path: Path) -> None:
    waiting = task(FIRST, need_gpus="2", slaver="Slaver1", is_urgent=1, gpu_type=["RTX3090"])

    assert only(planned(tmp_path, waiting=[waiting])) == {
        "name": f"task-{FIRST}",
        "cluster": "lab",
        "labels": {"imported-from": "master-slaver", "imported-id": FIRST},
        "command": "cd /home/lab/data/project || exit\npython train.py --lr 0.1",
        "env": {"PYTHONUNBUFFERED": "1", "NCCL_P2P_DISABLE": "1", "QT_QPA_PLATFORM": "offscreen"},
        "preemptible": False,
        "runtime": {"conda": "torch"},
        "priority": "urgent",
        "where": {"nodes": ["Slaver1"]},
        "resources": {"gpu": 2, "gpuType": ["RTX3090"]},
    }


def test_folders_with_spaces_are_quoted_and_absolute_paths_below_root_stay(tmp_path: Path) -> None:
    spaced = only(planned(tmp_path / "a", waiting=[task(FIRST, path="data/my project")]))
    assert spaced["command"].startswith("cd '/home/lab/data/my project' || exit\n")
    whole = only(planned(tmp_path / "b", waiting=[task(FIRST, path="/home/lab/data/x")]))
    assert whole["command"].startswith("cd /home/lab/data/x || exit\n")
    below = only(planned(tmp_path / "c", waiting=[task(FIRST, path="/data/x")]))
    assert below["command"].startswith("cd /home/lab/data/x || exit\n")


def test_exclusive_and_shared_gpus_and_tasks_without(tmp_path: Path) -> None:
    waiting = [
        task(FIRST, is_reuse_gpu=1),
        task(SECOND, is_reuse_gpu=1, need_gpus="2"),
        task(THIRD, need_gpus="0"),
    ]
    plan = planned(tmp_path, waiting=waiting)

    assert [spec.get("resources") for spec in plan.queued] == [{"gpu": 0.5}, {"gpu": 2}, None]
    assert "by half" in noted(plan, f"{FIRST}: is_reuse_gpu")
    assert "has no effect" in noted(plan, f"{SECOND}: is_reuse_gpu")
    assert "one task without GPUs" in noted(plan, f"{THIRD}: need_gpus")


def test_a_predecessor_must_have_ended_however_it_ended(tmp_path: Path) -> None:
    waiting = [task(SECOND, prev=THIRD), task(THIRD, prev=FIRST)]
    plan = planned(tmp_path, waiting=waiting, ended=[task(FIRST, state="err")])

    second, third = plan.queued
    assert second["after"] == [{"job": f"task-{THIRD}", "on": "ended"}]
    assert "after" not in third


def test_what_waits_for_a_running_or_a_deleted_task_is_left_out_and_said(tmp_path: Path) -> None:
    waiting = [
        task("23051812000001", prev=FIRST),
        task("23051812000002", prev="23051812000001"),
        task("23051812000003", prev="99999999999999"),
        task("23051812000004"),
    ]
    plan = planned(tmp_path, waiting=waiting, running=[task(FIRST, state="exec", gpu_num=[0])])

    assert [spec["name"] for spec in plan.queued] == ["task-23051812000004"]
    said = skipped(plan)
    assert f"exec_task.json: {FIRST}: it runs under the old system; import again when it has ended" in said
    assert f"wait_task.json: 23051812000001: its predecessor {FIRST} is not imported" in said
    assert "wait_task.json: 23051812000002: its predecessor 23051812000001 is not imported" in said
    assert "99999999999999 is in no list" in said[-1] or any("99999999999999 is in no list" in one for one in said)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"need_gpus": "4"}, "needs 4 GPUs on one node, and the largest has 3"),
        ({"need_gpus": "many"}, "need_gpus is not a number"),
        ({"slaver": "Slaver9"}, "'Slaver9', which is not in the list of nodes"),
        ({"exec": " "}, "exec is empty"),
        ({"path": "../other"}, "path leads out of root"),
        ({"envs": 3}, "envs is not text"),
        ({"gpu_type": "RTX3090"}, "gpu_type is not a list"),
    ],
)
def test_a_task_that_would_not_be_the_same_is_left_out_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    plan = planned(tmp_path, waiting=[task(FIRST, **changes)])
    assert plan.queued == ()
    assert words in skipped(plan)[0]


@pytest.mark.parametrize(
    ("state", "becomes", "fault"),
    [
        ("accp", "Succeeded", None),
        ("err", "Failed", "user"),
        ("term", "Cancelled", None),
        ("offline_error", "Failed", "platform"),
    ],
)
def test_ended_tasks_become_history(tmp_path: Path, state: str, becomes: str, fault: str | None) -> None:
    created = datetime(2023, 5, 18, 10, 20, 30).astimezone()
    ended = created.timestamp() + 3600
    plan = planned(tmp_path, {FIRST: ended}, ended=[task(FIRST, state=state, slaver="Gone", gpu_num=[1])])

    (record,) = plan.history
    assert (record["id"], record["state"], record.get("fault")) == (FIRST, becomes, fault)
    assert datetime.fromisoformat(record["createdAt"]) == created
    assert datetime.fromisoformat(record["endedAt"]).timestamp() == ended
    assert f"({state})" in record["reason"]
    assert "startedAt" not in record
    assert record["spec"]["where"] == {"nodes": ["Gone"]}


def test_without_its_log_a_task_had_ended_when_the_history_was_written(tmp_path: Path) -> None:
    (record,) = planned(tmp_path, ended=[task(FIRST, state="accp")]).history
    written = (tmp_path / "master" / "task_info" / "hist_task.json").stat().st_mtime
    assert datetime.fromisoformat(record["endedAt"]).timestamp() == int(written)
    assert "the time of its end is not known" in record["reason"]


def test_states_and_ids_that_say_nothing_are_not_made_up(tmp_path: Path) -> None:
    plan = planned(tmp_path, ended=[task(FIRST, state="lost"), task("abc", state="accp")])
    assert plan.history == ()
    assert "'lost'" in skipped(plan)[0]
    assert "does not begin with a time" in skipped(plan)[1]


def test_fields_that_no_task_has_are_said(tmp_path: Path) -> None:
    assert "it is no field of a task" in noted(planned(tmp_path, waiting=[task(FIRST, mood="good")]), "mood")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("conf.json", "{", "line 1 is not JSON"),
        ("conf.json", "[]", "it is not an object"),
        ("gpu_slaver_info.json", "{}", "it is not a list"),
        ("gpu_slaver_info.json", '[{"ip": "10.0.0.1"}]', "entry 0 is not an object with `name`"),
        ("task_info/wait_task.json", '[{"task_id": "1"}, {"task_id": "1"}]', "'1' is there twice"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path: Path, file: str, text: str, words: str) -> None:
    folder = write(tmp_path / "master")
    (folder / file).write_text(text)
    with pytest.raises(MusterError) as raised:
        read_folder(folder)
    assert words in raised.value.message
    assert Path(file).name in raised.value.message


def test_a_root_is_needed(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="not an absolute path"):
        plan_import(read_folder(write(tmp_path / "master", root="relative")), "lab", lambda _: None)


def test_lists_of_tasks_may_be_missing(tmp_path: Path) -> None:
    folder = write(tmp_path / "master")
    for file in (folder / "task_info").iterdir():
        file.unlink()
    plan = plan_import(read_folder(folder), "lab", lambda _: None)
    assert (plan.queued, plan.history) == ((), ())
