from pathlib import Path
from typing import get_args

import pytest

from muster.api.jobs import JobStateName, TaskStateName
from muster.domain.nodes import NodeState
from muster.exporters.lines import FIELDS
from muster.launch.frameworks import RECIPES
from muster.settings.influx import InfluxSettings
from muster.settings.ldap import LdapSettings
from muster.settings.oidc import OidcSettings
from muster.settings.server import ServerSettings
from tests.unit.docs.pages import ROOT, anchors, pages, relative_links, shown_commands

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = [link for link in relative_links(page) if not _leads_somewhere(page, link)]

    assert broken == []


def test_both_readmes_show_the_same_commands() -> None:
    english, chinese = shown_commands(ROOT / "README.md"), shown_commands(ROOT / "README.zh-CN.md")

    assert english
    assert chinese == english


def test_both_readmes_link_to_the_same_files() -> None:
    english, chinese = (set(relative_links(ROOT / name)) for name in ("README.md", "README.zh-CN.md"))

    pictured = {link.replace("-zh.png", ".png") for link in chinese}
    assert english - {"README.zh-CN.md"} == pictured - {"README.md"}


def test_the_server_guide_names_every_setting() -> None:
    guide = (ROOT / "docs/guides/server.md").read_text(encoding="utf-8")
    names = {field.alias or name for name, field in ServerSettings.model_fields.items()} - {"home"}

    assert {name for name in names if f"| `{name}` |" not in guide} == set()


def test_the_guide_to_logins_names_every_setting() -> None:
    guide = (ROOT / "docs/guides/sign-in.md").read_text(encoding="utf-8")
    oidc, ldap = (
        {field.alias or name for name, field in kind.model_fields.items()} for kind in (OidcSettings, LdapSettings)
    )

    assert {name for name in oidc | ldap if f"| `{name}` |" not in guide} == set()


def test_the_environment_guide_names_every_framework() -> None:
    guide = (ROOT / "docs/guides/task-environment.md").read_text(encoding="utf-8")

    assert {framework for framework in RECIPES if f"| `{framework}`" not in guide} == set()


@pytest.mark.parametrize(
    ("entity", "states"),
    [("job", get_args(JobStateName)), ("task", get_args(TaskStateName)), ("node", tuple(NodeState))],
)
def test_the_glossary_names_every_state(entity: str, states: tuple[str, ...]) -> None:
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    row = next(line for line in lines if line.startswith(f"| {entity} | "))

    assert [state for state in states if state not in row] == []


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not heading or heading in anchors(target)


def test_the_monitoring_guide_names_what_is_sent_and_set() -> None:
    guide = (ROOT / "docs/guides/monitoring.md").read_text(encoding="utf-8")
    settings = {field.alias or name for name, field in InfluxSettings.model_fields.items()}
    sent = {*FIELDS, *(field for fields in FIELDS.values() for field in fields)}

    assert {name for name in settings | sent if f"`{name}`" not in guide} == set()
