"""The portal has words, in both languages, for every kind of act that the audit log can tell."""

import re
from pathlib import Path

import pytest

from muster.domain.audit_kinds import AUDIT_KINDS

WORDS = Path(__file__).parents[3] / "portal" / "src" / "words"


@pytest.mark.parametrize("name", ["auditEn.ts", "auditZh.ts"])
def test_every_kind_of_act_has_words(name: str) -> None:
    text = (WORDS / name).read_text()
    assert re.findall(r'^  "?([a-z.-]+)"?: "', text, re.MULTILINE) == list(AUDIT_KINDS)
