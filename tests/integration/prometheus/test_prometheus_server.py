"""A real Prometheus and Alertmanager watch a real server by the shipped files."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tests.parts.dashboards import BOARDS, Query, expressions, filled_in
from tests.parts.prometheus import SHIPPED, Prometheus, PrometheusMissing, running_alertmanager, running_prometheus
from tests.parts.server import MusterServer, polls, running_server

_WITHIN_S = 120.0
_HEALTHY = "2xA100\nload 0 87 20Gi 65 210\nload 1 3 1Gi 40 60\n"
_ILL = _HEALTHY + "ecc 1 3\n"
_MAY_BE_EMPTY = {
    "Certificate ends in",  # the server has none
    "Received",  # a machine alone in the world
    "Sent",
    "Disk of the servers",  # a file system that does not say how large it is
}


@dataclass
class Told:
    """What Alertmanager posted."""

    messages: list[dict[str, Any]] = field(default_factory=list)

    def has(self, alert: str, status: str) -> bool:
        return any(
            one["labels"]["alertname"] == alert and one["status"] == status
            for message in self.messages
            for one in message["alerts"]
        )

    def first(self, alert: str) -> Any:
        found = (one for message in self.messages for one in message["alerts"])
        return next(one for one in found if one["labels"]["alertname"] == alert)


@dataclass
class Site:
    server: MusterServer
    prometheus: Prometheus
    told: Told

    @property
    def cards(self) -> Path:
        return self.server.home / "cards"

    def until(self, condition: str) -> None:
        for _ in polls(_WITHIN_S, 0.5):
            if self.prometheus.query(condition):
                return
        raise AssertionError(f"{condition} did not come true\n{self.prometheus.program.said()}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("prometheus")
    told, home = Told(), folder / "home"
    home.mkdir(mode=0o700)
    (home / "cards").write_text(_HEALTHY)
    try:
        with ExitStack() as stack:
            hook = stack.enter_context(_listening(told))
            server = stack.enter_context(running_server(home, {"MUSTER_FAKE_GPUS": f"@{home / 'cards'}"}))
            token = server.run("tokens", "create", "prometheus", "--scope", "read", check=True).stdout
            (folder / "muster-token").write_text(token)
            alertmanager = stack.enter_context(running_alertmanager(folder / "am", _alertmanager_config(hook)))
            config = _prometheus_config(server.port, alertmanager.port, folder / "muster-token")
            yield Site(server, stack.enter_context(running_prometheus(folder / "prom", config)), told)
    except PrometheusMissing as missing:
        pytest.skip(str(missing))


def _prometheus_config(server: int, alertmanager: int, token: Path) -> dict[str, Any]:
    """The shipped one, with the addresses of the test and a faster pulse."""
    config: dict[str, Any] = yaml.safe_load((SHIPPED / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "3s", "scrape_timeout": "3s", "evaluation_interval": "1s"}
    (scrape,) = config["scrape_configs"]
    scrape["authorization"]["credentials_file"] = str(token)
    scrape["static_configs"] = [{"targets": [f"127.0.0.1:{server}"]}]
    config["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]
    return config


def _alertmanager_config(hook: str) -> dict[str, Any]:
    """The shipped one, posting to the test instead of sending mails, without waiting and at any hour."""
    config: dict[str, Any] = yaml.safe_load((SHIPPED / "alertmanager" / "alertmanager.yml").read_text())
    for receiver in config["receivers"]:
        del receiver["email_configs"]
        receiver["webhook_configs"] = [{"url": hook, "send_resolved": True}]
    for route in (config["route"], *config["route"]["routes"]):
        route |= {"group_wait": "1s", "group_interval": "1s"}
        route.pop("mute_time_intervals", None)
    return config


class _listening:
    def __init__(self, told: Told) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told.messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_an_alert_fires_in_both_and_is_over_in_both(site: Site) -> None:
    site.until("muster:gpu_load_percent > 80")
    assert "NvidiaSmiDoubleEccError" not in site.prometheus.firing()
    site.cards.write_text(_ILL)
    assert any(site.told.has("NvidiaSmiDoubleEccError", "firing") for _ in polls(_WITHIN_S, 0.5))
    assert any("NvidiaSmiDoubleEccError" in site.prometheus.firing() for _ in polls(_WITHIN_S, 0.5))
    site.cards.write_text(_HEALTHY)
    assert any(site.told.has("NvidiaSmiDoubleEccError", "resolved") for _ in polls(_WITHIN_S, 0.5))
    alert = site.told.first("NvidiaSmiDoubleEccError")
    assert alert["annotations"]["summary"].endswith("has 3 memory errors that ECC could not correct")
    assert alert["labels"]["severity"] == "critical"


def test_every_panel_of_every_dashboard_has_something_to_draw(site: Site) -> None:
    running = site.server.submit({"name": "trains", "command": "sleep 600", "resources": {"cpu": "100m", "gpu": 1}})
    waiting = site.server.submit({"name": "waits", "command": "true", "resources": {"cpu": "100m", "gpu": 2}})
    site.server.wait_for_state(running["id"], "Running")
    site.until('muster_user_jobs{state="Queued"} == 1')
    site.until('muster_job_cpu_percent{job_name="trains"}')
    site.until('muster:cluster_jobs{state="Running"} == 1')
    site.until("muster:cluster_gpus_allocated_percent == 50")
    site.until("muster:http_request_seconds:p99_5m")
    empty = list(expressions(BOARDS))
    for _ in polls(60, 1.0):
        empty = [query for query in empty if not _has_data(site, query)]
        if not empty:
            break
    assert empty == []
    for job in (waiting, running):
        site.server.run("kill", job["id"], check=True)


def _has_data(site: Site, query: Query) -> bool:
    text = filled_in(query.text)
    if query.is_series:
        return bool(site.prometheus.series(text))
    if query.panel in _MAY_BE_EMPTY or query.only_alerts:
        site.prometheus.query(text)  # there is no answer, but the question is a right one
        return True
    return bool(site.prometheus.query(text))
