"""What becomes of the options of `paddle cluster_train` and of `cluster_config(...)`, without a server."""

from typing import Any

import pytest

from muster.api.cluster_train import KEYS
from muster.wire.dialects.detecting import translate
from muster.wire.dialects.translation import Translation
from muster.wire.documents import Document

pytestmark = pytest.mark.fast


def translated(written: dict[str, Any] | None = None, /, **options: Any) -> Translation:
    flags = options.pop("train_flags", {})
    job = {"num_nodes": 1, "config": "conf.py", "use_gpu": "cpu", "cluster_config": written or {}, "train_flags": flags}
    found = translate(Document({**job, **options}))
    assert found is not None
    return found


def flags_of(job: Translation, role: str = "worker") -> list[str]:
    command = job.data["roles"][role]["command"]
    assert command[:2] == ["sh", "-c"]
    return list(command[4:])


def test_a_server_and_a_trainer_run_for_each_node() -> None:
    job = translated(num_nodes=3, job_name="mnist", where="lab", use_gpu="gpu", train_flags={"trainer_count": "4"})
    assert not job.refusals
    assert (job.data["name"], job.data["cluster"], job.data["framework"]) == ("mnist", "lab", "paddle")
    worker, server = job.data["roles"]["worker"], job.data["roles"]["ps"]
    assert (worker["replicas"], worker["resources"], server["replicas"]) == (3, {"gpu": 4}, 3)
    assert "--use_gpu=1" in flags_of(job)
    assert translated(num_nodes=3, num_pservers=1).data["roles"]["ps"]["replicas"] == 1


def test_what_the_user_wrote_is_an_argument_and_no_part_of_a_script() -> None:
    evil = "$(touch x); '\"`"
    job = translated({"comment": evil}, train_flags={"config_args": evil}, config=f"{evil}.py", thirdparty=evil)
    assert f"--config_args={evil}" in flags_of(job)
    assert f"--config={evil}.py" in flags_of(job)
    assert f"--comment={evil}" in flags_of(job, "ps")
    assert evil not in job.data["roles"]["worker"]["command"][2]
    assert job.data["env"] == {"THIRDPARTY": evil}


@pytest.mark.parametrize(
    ("given", "seconds"), [("0", None), ("00:00:00", None), ("01:30:05", "5405s"), ("100:00:00", "360000s")]
)
def test_time_limits(given: str, seconds: str | None) -> None:
    assert translated(time_limit=given).data.get("timeLimit") == seconds


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"time_limit": "90"}, "time_limit"),
        ({"time_limit": "1:99:00"}, "time_limit"),
        ({"job_priority": "soon"}, "job_priority"),
        ({"use_gpu": "tpu"}, "use_gpu"),
        ({"num_nodes": 0}, "num_nodes"),
        ({"num_nodes": True}, "num_nodes"),
        ({"thirdparty": "../up"}, "thirdparty"),
        ({"thirdparty": ".."}, "thirdparty"),
        ({"config": "a/b.py"}, "config"),
        ({"surprise": 1}, "surprise"),
        ({"train_flags": {"trainer_count": "many"}}, "train_flags.trainer_count"),
        ({"train_flags": {"a b": "1"}}, "train_flags.a b"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, Any], path: str) -> None:
    assert [problem.path for problem in translated(**options).problems] == [path]


@pytest.mark.parametrize("config", [{"fs_nam": "x"}, {"has_meta_data": "perhaps", "work_dir": "/w"}, {"fs_name": 3}])
def test_wrong_keys_of_cluster_config_are_refused(config: dict[str, Any]) -> None:
    assert len(translated(config).problems) == 1


def test_the_login_to_hdfs_is_a_secret_and_in_no_message() -> None:
    job = translated({"fs_name": "hdfs://a:1", "fs_ugi": "user,pass-word"})
    assert job.secrets == {"cluster-train.fs-ugi": "user,pass-word"}
    assert job.data["secrets"] == [{"name": "cluster-train.fs-ugi", "env": "FS_UGI"}]
    assert "pass-word" not in repr(job)
    assert "pass-word" not in str(translated({"fs_ugi": ["user", "pass-word"]}).problems)


def test_paths_of_hdfs_are_variables_and_each_is_said() -> None:
    job = translated({"fs_name": "hdfs://a:1", "work_dir": "/w/", "has_meta_data": True, "test_data_path": "/own"})
    assert job.data["env"] == {
        "FS_NAME": "hdfs://a:1",
        "TRAIN_DATA_PATH": "/w/train",
        "TEST_DATA_PATH": "/own",
        "TRAIN_META_DATA_PATH": "/w/train_meta_dir",
        "TEST_META_DATA_PATH": "/w/test_meta_dir",
        "OUTPUT_PATH": "/w/output",
    }
    assert "mounts" not in job.data
    assert len(job.warnings) == 6


def test_paths_of_the_cluster_are_mounted() -> None:
    job = translated({"train_data_path": "data/mnist"})
    assert job.data["mounts"] == [{"source": "data/mnist", "target": "train_data", "readOnly": True}]
    assert job.data["env"] == {"TRAIN_DATA_PATH": "train_data"}
    assert not job.warnings
    assert "mounts" not in translated({"train_data_path": "hdfs://a/b"}).data


def test_only_the_folder_output_is_collected() -> None:
    assert translated().data["outputs"] == ["output/"]
    elsewhere = translated({"save_dir": "model"})
    assert "outputs" not in elsewhere.data
    assert "--save_dir=model" in flags_of(elsewhere)
    assert any(warning.startswith("save_dir: ") for warning in elsewhere.warnings)


def test_flags_that_come_of_keys() -> None:
    config = {"init_model_path": "m", "loadsave_parameters_in_pserver": "1", "use_remote_sparse": True}
    job = translated(config)
    assert {"--init_model_path=m", "--loadsave_parameters_in_pserver=1", "--ports_num_for_sparse=1"} < set(
        flags_of(job)
    )
    assert "--ports_num_for_sparse=1" in flags_of(job, "ps")


@pytest.mark.parametrize("flag", ["local", "port", "pservers", "trainer_id", "num_gradient_servers", "nics", "use_gpu"])
def test_flags_that_muster_sets_are_not_passed_on_and_that_is_said(flag: str) -> None:
    job = translated(train_flags={flag: "9", "num_passes": "2"})
    assert any(warning.startswith(f"{flag}: has no effect: ") for warning in job.warnings)
    assert f"--{flag}=9" not in flags_of(job)
    assert "--num_passes=2" in flags_of(job)


def test_every_key_has_an_effect_or_is_said() -> None:
    values: dict[str, Any] = dict.fromkeys(KEYS, "1") | {"has_meta_data": True}
    without = translated()
    for key in KEYS:
        config = {key: values[key]} | ({"work_dir": "/w"} if key == "has_meta_data" else {})
        job = translated(config)
        assert not job.refusals, key
        assert (job.data, job.warnings) != (without.data, without.warnings), key


def test_the_hook_is_a_setup_that_no_later_job_uses() -> None:
    assert "setup" not in translated(thirdparty="thirdparty").data
    setup = translated(thirdparty="thirdparty", before_hook=True).data["setup"]
    assert setup["cache"] is False


def test_the_submitter_is_a_label() -> None:
    job = translated(submitter="li")
    assert job.data["labels"] == {"submitter": "li"}
    assert len(job.warnings) == 1
