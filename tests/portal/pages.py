"""The pages of the portal, what is true of each, and how it is called in each language."""

from tests.portal.conftest import Read

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


def is_whole(read_page: Read, path: str, language: str, width: int) -> None:
    """Barriers are looked for in English: both languages have the same elements."""
    with read_page(path, language=language, width=width) as window:
        title = PAGES[path][LANGUAGES.index(language)]
        window.page.get_by_role("heading", level=1, name=title).wait_for()
        window.await_loaded()
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width
        if language == "en":
            assert window.barriers() == []
