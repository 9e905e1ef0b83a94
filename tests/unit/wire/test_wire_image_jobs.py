"""Where a container starts, how its image is pulled, what its entry point gets, and storages by their names."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import Mount, Runtime
from muster.wire.documents import Document
from muster.wire.specs import read_spec, spec_from_document, spec_to_wire
from muster.wire.written_specs import spec_as_written

pytestmark = pytest.mark.fast
IMAGE = "name: a\nruntime: {image: trainer:1"


def problems(source: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        read_spec(source)
    return [f"{problem.path}: {problem.message}" for problem in refused.value.problems]


@pytest.mark.parametrize("workdir", ["image", "/workspace", "/a b/c"])
def test_a_container_starts_in_the_folder_of_its_image_or_in_a_path(workdir: str) -> None:
    spec = read_spec(f"{IMAGE}, workdir: {workdir}, pullSecret: registry}}\n")
    assert spec.runtime == Runtime(image="trainer:1", workdir=workdir, pull_secret="registry")
    assert spec.secret_names == ("registry",)
    assert spec_from_document(Document(spec_to_wire(spec))) == spec


@pytest.mark.parametrize("workdir", ["workspace", "''", "/a/../b", "Image", '"/a\\nb"'])
def test_any_other_folder_is_refused(workdir: str) -> None:
    (problem,) = problems(f"{IMAGE}, workdir: {workdir}}}\n")
    assert problem.startswith("runtime.workdir: ")


def test_arguments_are_for_the_entry_point_and_may_use_params() -> None:
    spec = read_spec(f"{IMAGE}}}\nparams: {{lr: 0.5}}\nargs: [--lr, '${{params.lr}}', 3]\n")
    (role,) = spec.roles
    assert (role.command, role.args) == ((), ("--lr", "0.5", "3"))
    assert spec_as_written(spec)["args"] == ["--lr", "${params.lr}", "3"]
    assert spec_from_document(Document(spec_to_wire(spec))).roles[0].args == role.args


def test_arguments_beside_a_command_or_without_an_image_are_refused() -> None:
    assert problems(f"{IMAGE}}}\ncommand: [python]\nargs: [train.py]\n") == ["args: stand beside a command"]
    assert problems("name: a\nroles: {worker: {args: [x]}}\n") == ["roles.worker.command: is required"]
    assert problems("name: a\nargs: [x]\n") == ["command: is required"]
    assert problems(f"{IMAGE}}}\nargs: ['${{params.no}}']\n") == ["args: there is no param 'no'"]


def test_a_mount_names_a_source_or_a_storage() -> None:
    spec = read_spec(f"{IMAGE}}}\nmounts: [{{storage: team-data, target: /data, readOnly: true}}]\n")
    assert spec.mounts == (Mount("", "/data", True, "team-data"),)
    assert spec_to_wire(spec)["mounts"] == [{"storage": "team-data", "target": "/data", "readOnly": True}]
    assert spec_from_document(Document(spec_to_wire(spec))) == spec


def test_a_mount_with_both_or_neither_is_refused() -> None:
    assert problems(f"{IMAGE}}}\nmounts: [{{source: a, storage: b, target: /c}}, {{target: /d}}]\n") == [
        "mounts[0].storage: stands beside a source",
        "mounts[1].source: is required",
    ]
    assert problems(f"{IMAGE}}}\nmounts: [{{storage: ../x, target: /c}}]\n")[0].startswith("mounts[0].storage: ")
