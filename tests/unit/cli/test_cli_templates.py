"""Built-in templates: every one is complete and valid, and the files of templates are written safely."""

from pathlib import Path

import pytest

from muster.cli.failures import Failure
from muster.cli.templates.catalogue import JOB_FILE, built_in_files
from muster.cli.templates.params import Param, params_of, with_params
from muster.cli.templates.writing import write_files
from muster.templates.catalogue import DESCRIPTIONS
from muster.wire.specs import read_source

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_built_in_template_is_a_valid_job_with_described_params(name: str) -> None:
    files = built_in_files(name)
    reading = read_source(files[JOB_FILE])
    assert (reading.spec.name, reading.spec.package, reading.warnings) == (name, "./src", ())
    assert all(param.description for param in params_of(files[JOB_FILE]))
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
    assert "src/train.py" in files


def test_every_folder_of_built_in_templates_is_listed() -> None:
    folder = Path(__file__).parents[3] / "src/muster/templates/built_in"
    assert {path.name for path in folder.iterdir()} == set(DESCRIPTIONS)


def test_an_unknown_template_is_refused_with_the_closest_name() -> None:
    with pytest.raises(Failure) as refused:
        built_in_files("torch-dpp")
    assert refused.value.hint == "did you mean torch-ddp?"


def test_files_that_are_there_are_kept_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("mine")
    files = {"job.yaml": "new", "src/train.py": "pass"}
    with pytest.raises(Failure, match="is there already"):
        write_files(files, tmp_path, force=False)
    assert ((tmp_path / "job.yaml").read_text(), (tmp_path / "src").exists()) == ("mine", False)
    written = write_files(files, tmp_path, force=True)
    assert [path.read_text() for path in written] == ["new", "pass"]


@pytest.mark.parametrize("path", [".git/config", "a/.envrc", ".ssh/authorized_keys"])
def test_a_hidden_file_is_not_written_nor_any_other(tmp_path: Path, path: str) -> None:
    with pytest.raises(Failure, match="hidden file"):
        write_files({"job.yaml": "", path: "text"}, tmp_path, force=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "link/x", "a\0b", "self"])
def test_no_file_is_written_outside_the_folder(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    (inside / "self").symlink_to(tmp_path / "x")
    with pytest.raises(Failure):
        write_files({path: "text"}, inside, force=True)
    assert not (tmp_path / "x").exists()


BLOCK = """name: a
params:  # all of them
  lr: 0.1         # the learning rate
  opt: "adam#1"

  note: x
command: echo
"""


def test_params_have_values_and_the_comments_behind_them() -> None:
    assert params_of(BLOCK) == [Param("lr", 0.1, "the learning rate"), Param("opt", "adam#1"), Param("note", "x")]
    assert params_of("params: {lr: 1}\n") == [Param("lr", 1)]
    assert [params_of(text) for text in ("params: 3", "[", "", "name: a")] == [[], [], [], []]


def test_params_are_set_and_comments_stay() -> None:
    text = with_params(BLOCK, {"lr": 0.5, "note": "a: b # c"})
    assert "  lr: 0.5         # the learning rate\n" in text
    assert [param.value for param in params_of(text)] == [0.5, "adam#1", "a: b # c"]
    assert with_params("name: a\nparams: {lr: 1, b: x}\n", {"lr": 2}) == "name: a\nparams: {lr: 2, b: x}\n"


def test_an_unknown_param_is_refused_with_the_closest_name() -> None:
    with pytest.raises(Failure) as refused:
        with_params(BLOCK, {"lrr": 1})
    assert refused.value.hint == "did you mean lr?"
