"""The shipped files for Prometheus and Alertmanager, as their own tools judge them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.parts.prometheus import MISSING, PROGRAMS, SHIPPED

pytestmark = pytest.mark.skipif(any(shutil.which(name) is None for name in PROGRAMS), reason=MISSING)


def judged(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_configuration_and_its_rules_are_right(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "prometheus", tmp_path, dirs_exist_ok=True)
    (tmp_path / "muster-token").write_text("secret\n")
    assert "is valid prometheus config" in judged(tmp_path, "promtool", "check", "config", "prometheus.yml")
    judged(tmp_path, "promtool", "check", "rules", "muster-recording.yml", "muster-alerts.yml")


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    judged(SHIPPED / "prometheus", "promtool", "test", "rules", "muster-alerts-test.yml")


def test_alertmanager_takes_its_configuration() -> None:
    said = judged(SHIPPED / "alertmanager", "amtool", "check-config", "alertmanager.yml")
    assert "SUCCESS" in said


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (("severity=critical", "alertname=NodeNotReady"), "admins-at-once"),
        (("severity=warning", "alertname=GpuTemperatureTooHigh"), "admins"),
        (("severity=info", "alertname=PaiJobPending"), "admins"),
    ],
)
def test_who_hears_of_what(labels: tuple[str, ...], receiver: str) -> None:
    config = "--config.file=alertmanager.yml"
    said = judged(SHIPPED / "alertmanager", "amtool", "config", "routes", "test", config, *labels)
    assert said.strip() == receiver
