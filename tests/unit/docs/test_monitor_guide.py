"""The guide to the monitor names every key of its file, and what it shows is accepted."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from muster.settings.monitor import (
    CanarySettings,
    DampingSettings,
    DigestSettings,
    MonitorSettings,
    NoticeSettings,
    PingSettings,
    ReceiverSettings,
    SmtpSettings,
)
from muster.settings.monitor_reading import read_monitor_config
from tests.unit.docs.pages import ROOT, blocks

pytestmark = pytest.mark.fast

GUIDE = ROOT / "docs/guides/monitor.md"
PARTS = (CanarySettings, DampingSettings, DigestSettings, MonitorSettings, NoticeSettings, PingSettings)


@pytest.mark.parametrize("part", [*PARTS, ReceiverSettings, SmtpSettings], ids=lambda part: part.__name__)
def test_the_guide_names_every_key(part: type[BaseModel]) -> None:
    text = GUIDE.read_text(encoding="utf-8").replace("{", "`").replace(": ", "`").replace(", ", " `")
    keys = {field.alias or name for name, field in part.model_fields.items()}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_the_settings_in_the_guide_are_valid(tmp_path: Path) -> None:
    whole, notices = blocks(GUIDE, "yaml")
    for name in ("token", "feishu-secret", "dingtalk-secret", "hook-secret"):
        (tmp_path / name).write_text("mst_1")
    for name in ("feishu-url", "dingtalk-url", "slack-url"):
        (tmp_path / name).write_text("https://example.org/hook")
    for file in tmp_path.iterdir():
        file.chmod(0o600)
    (tmp_path / "monitor.yaml").write_text(whole + notices)
    config = read_monitor_config(tmp_path / "monitor.yaml", {"WECOM_URL": "https://example.org/hook"})
    assert [one.kind for one in config.settings.notices] == ["feishu", "dingtalk", "wecom", "slack", "webhook"]
