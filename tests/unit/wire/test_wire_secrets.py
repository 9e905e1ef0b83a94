"""`secrets` in a job spec: how tasks get them, and what is refused."""

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import JobSpec, SecretUse
from muster.wire.documents import Document
from muster.wire.specs import read_spec, spec_from_document, spec_to_wire

pytestmark = pytest.mark.fast


def read(secrets: str, more: str = "") -> JobSpec:
    return read_spec(f"name: j\ncommand: 'true'\n{more}secrets:\n{secrets}")


def test_a_secret_is_a_variable_or_a_file_or_a_file_with_its_path_in_a_variable() -> None:
    spec = read(
        "- {name: wandb, env: WANDB_API_KEY}\n- {name: key, file: ./ssh/id}\n- {name: gcp, file: gcp.json, env: GCP}\n"
    )
    uses = (SecretUse("wandb", "WANDB_API_KEY"), SecretUse("key", file="ssh/id"), SecretUse("gcp", "GCP", "gcp.json"))
    assert spec.secrets == uses
    assert spec_from_document(Document(spec_to_wire(spec))) == spec


@pytest.mark.parametrize(
    ("secrets", "path", "words"),
    [
        ("- {name: a}\n", "secrets[0]", "neither `env` nor `file`"),
        ("- {env: A}\n", "secrets[0].name", "required"),
        ("- {name: a b, env: A}\n", "secrets[0].name", ""),
        ("- {name: a, env: A-B}\n", "secrets[0].env", ""),
        ("- {name: a, env: MUSTER_TASK_DIR}\n", "secrets[0].env", "reserved"),
        ("- {name: a, env: LD_PRELOAD}\n", "secrets[0].env", "reserved"),
        ("- {name: a, env: CUDA_VISIBLE_DEVICES}\n", "secrets[0].env", "reserved"),
        ("- {name: a, env: A}\n- {name: b, env: A}\n", "secrets[1].env", "another secret"),
        ("- {name: a, env: EPOCHS}\n", "secrets[0].env", "set in env too"),
        ("- {name: a, file: x}\n- {name: b, file: x/y}\n", "secrets[1].file", "another secret"),
        ("- {name: a, file: ../x}\n", "secrets[0].file", "without '..'"),
        ("- {name: a, file: /etc/x}\n", "secrets[0].file", "without '..'"),
        ("- {name: a, file: x/}\n", "secrets[0].file", "without '..'"),
        ("- {name: a, evn: A}\n", "secrets[0].evn", "unknown"),
        ("- {name: a, value: hunter2, env: A}\n", "secrets[0].value", "unknown"),
    ],
)
def test_a_wrong_secret_is_refused_with_its_line(secrets: str, path: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(secrets, "env: {EPOCHS: 3}\n")
    found = [problem for problem in refused.value.problems if problem.path == path]
    assert found, refused.value.problems
    assert words in f"{found[0].message} {found[0].hint}"
    assert found[0].line == 5 + int(path[8])
    assert "hunter2" not in str(found[0])


def test_a_variable_of_a_role_cannot_be_a_secret_too() -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(
            "name: j\nroles: {worker: {command: 'true', env: {A: x}}}\nsecrets:\n- {name: a, env: A}\n",
        )
    assert "roles.worker.env" in str(refused.value.problems[0])
