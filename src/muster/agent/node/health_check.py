"""The operation that runs a health check of the admin. When it runs, and what follows from it, the server decides."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping

from muster.agent import requests
from muster.agent.system.site_scripts import run_script


def health_check(request: Mapping[str, Any]) -> Callable[[], Dict[str, Any]]:
    argv, timeout_s = requests.argv(request), requests.seconds(request, "timeout_s")
    return lambda: {"problem": run_script(argv, timeout_s, {}).problem}
