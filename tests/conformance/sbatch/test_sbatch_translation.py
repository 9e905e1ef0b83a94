"""What each script becomes: the spec, its variables, what has no effect, and what is refused."""

import re
from pathlib import Path

import pytest

from muster.wire.dialects.detecting import translate
from muster.wire.dialects.scripts import script_document
from muster.wire.dialects.slurm.launcher import STEP_PROGRAM
from muster.wire.dialects.translation import Translation
from tests.conftest import Golden
from tests.unit.wire_dialects.reading import told

pytestmark = pytest.mark.fast
CASES = Path(__file__).parent / "cases"
SCRIPTS = sorted(path for path in CASES.iterdir() if path.suffix in (".sbatch", ".sh", ".slurm"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_becomes_what_slurm_would_run(script: Path, golden: Golden) -> None:
    translation = translated(script.read_text())

    golden(script.with_suffix(".expected.txt"), shown(translation))


def test_script_is_kept_as_it_is_and_the_commands_of_slurm_travel_only_with_scripts_that_use_them() -> None:
    for script in SCRIPTS:
        text = script.read_text()
        spec = translated(text).data
        _, _, _, _, carried, *program = spec["command"]
        assert carried == text
        uses = re.search(r"(?m)^[^#\n]*\b(srun|scontrol)\b", text) is not None or spec.get("replicas", 1) > 1
        assert program == ([STEP_PROGRAM] if uses else []), script.name


def translated(text: str) -> Translation:
    translation = translate(script_document(text))
    assert translation is not None
    return translation


def shown(translation: Translation) -> str:
    """Without the texts that are the same for all scripts, but with what is true of this one."""
    _, _, launcher, *_ = translation.data["command"]
    variables = re.findall(r"^(SLURM\w*=.*)$", launcher, re.MULTILINE)
    spec = {key: value for key, value in translation.data.items() if key != "command"}
    wish = translation.wish
    return told(Translation(spec, translation.warnings, translation.refusals)) + "\n".join(
        [*([f"cluster: {' or '.join(wish.names)}, if there is one"] if wish else []), *variables, ""]
    )
