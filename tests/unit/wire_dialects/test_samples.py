"""The job files that the original systems' own guides show, as they are."""

from pathlib import Path
from typing import Any

import pytest

from muster.domain.specs import Mode
from muster.wire.dialects.detecting import translate
from muster.wire.dialects.streams import read_stream
from muster.wire.specs import read_source
from tests.conftest import Golden
from tests.unit.wire_dialects.reading import told

pytestmark = pytest.mark.fast
SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.yaml"))
ON_THIS_MACHINE: dict[str, Any] = {"runtime.image": None, "mounts": []}


@pytest.mark.parametrize("name", NAMES)
def test_sample_is_translated_as_recorded(name: str, golden: Golden) -> None:
    document, beside = read_stream((SAMPLES / f"{name}.yaml").read_text())
    translation = translate(document)

    assert translation is not None
    golden(SAMPLES / f"{name}.golden", "".join(f"warning: {text}\n" for text in beside) + told(translation))


@pytest.mark.parametrize(
    ("name", "mode", "tasks"),
    [
        ("wide-and-deep", Mode.PS, 4),
        ("resnet", Mode.COLLECTIVE, 2),
        ("volcano", Mode.PS, 4),
        ("gpu-and-node-selector", Mode.PS, 4),
        ("storage", Mode.PS, 4),
        ("openpai-hello-world", Mode.SINGLE, 1),
    ],
)
def test_every_sample_can_be_run_without_its_image(name: str, mode: Mode, tasks: int) -> None:
    text = (SAMPLES / f"{name}.yaml").read_text()
    commands = {"roles.worker.command": "python train.py"} if mode is not Mode.SINGLE else {}
    commands |= {"roles.ps.command": "python train.py"} if mode is Mode.PS else {}

    spec = read_source(text, overrides=ON_THIS_MACHINE | commands).spec

    assert (spec.mode, spec.task_count) == (mode, tasks)
    assert spec.runtime.image is None


def test_lines_of_a_job_among_other_documents_are_those_of_the_file() -> None:
    text = (SAMPLES / "volcano.yaml").read_text().replace("withGloo: 1", "elastic: 1")
    reading = read_source(text, overrides={"roles.worker.command": "x", "roles.ps.command": "x"})

    line = next(number for number, line in enumerate(text.splitlines(), 1) if "elastic" in line)
    assert any(warning.startswith(f"line {line}: spec.elastic: ") for warning in reading.warnings)
