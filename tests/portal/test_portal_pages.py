"""Every page, in both languages and at two widths: it has its title, no barrier, nothing off screen, no error.

Barriers are looked for at both widths and in the dark, in English: both languages have the same elements.
"""

import pytest
from playwright.sync_api import expect

from tests.portal.conftest import Open, Read
from tests.portal.reading import PHONE, WIDE

PAGES = {
    "/": ("Home", "首页"),
    "/jobs": ("Jobs", "作业"),
    "/jobs?owner=root&since=7d": ("Jobs", "作业"),
    "/queue?running=true": ("Queue", "队列"),
    "/virtual-clusters": ("Virtual clusters", "虚拟集群"),
    "/cluster": ("Cluster", "集群"),
    "/cluster?by=owner": ("Cluster", "集群"),
    "/nodes/gpu01?cluster=lab": ("gpu01", "gpu01"),
    "/schedule": ("Schedule", "调度"),
    "/experiments": ("Experiments", "实验"),
    "/experiments?show=parallel": ("Experiments", "实验"),
    "/experiments/compare": ("Compare jobs", "比较作业"),
    "/sweeps": ("Sweeps", "参数搜索"),
    "/models": ("Models", "模型"),
    "/alerts": ("Alerts", "告警"),
    "/welcome": ("First steps", "快速开始"),
    "/profile": ("Profile", "个人设置"),
    "/simulate": ("Simulate", "模拟"),
    "/admin": ("Admin", "管理"),
    "/admin?tab=groups": ("Admin", "管理"),
    "/admin?tab=tokens": ("Admin", "管理"),
    "/admin?tab=limits": ("Admin", "管理"),
    "/admin?tab=files": ("Admin", "管理"),
    "/admin?tab=files&file=lab.yaml": ("Admin", "管理"),
    "/admin?tab=alerts": ("Admin", "管理"),
    "/admin?tab=audit": ("Admin", "管理"),
    "/admin?tab=log": ("Admin", "管理"),
    "/admin?tab=health": ("Admin", "管理"),
    "/submit": ("Submit a job", "提交作业"),
    "/files": ("Files", "文件"),
    "/environments": ("Environments", "环境"),
}
LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("width", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole(read_page: Read, path: str, language: str, width: int) -> None:
    with read_page(path, language=language, width=width) as window:
        title = PAGES[path][LANGUAGES.index(language)]
        window.page.get_by_role("heading", level=1, name=title).wait_for()
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width
        if language == "en":
            assert window.barriers() == []


@pytest.mark.parametrize("path", PAGES)
def test_dark_page_has_no_barrier(read_page: Read, path: str) -> None:
    with read_page(path, dark=True) as window:
        window.page.get_by_role("heading", level=1).wait_for()
        assert window.barriers() == []


def test_colours_are_switched_without_breaking_the_policy(open_page: Open) -> None:
    page = open_page("root", "/").page
    for name, scheme in (("Dark colours", "dark"), ("Light colours", "light")):
        page.get_by_role("button", name=name).click()
        expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
