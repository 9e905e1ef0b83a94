"""A real server pushes to a real InfluxDB, and a board's questions are answered from what came."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parts.influx import Influx, InfluxMissing, running_influx
from tests.parts.server import MusterServer, polls, running_server

_RECENT = "time > now() - 5m GROUP BY time(10s)"
_WITHIN_S = 60.0
_BOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "dashboards" / "servers.json"


@pytest.fixture
def influx(tmp_path: Path) -> Iterator[Influx]:
    with _running(tmp_path / "influx") as influx:
        yield influx


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Influx]:
    """One that wants to know who asks."""
    with _running(tmp_path / "influx", with_accounts=True) as influx:
        yield influx


@contextmanager
def _running(folder: Path, *, with_accounts: bool = False) -> Iterator[Influx]:
    try:
        with running_influx(folder, with_accounts=with_accounts) as influx:
            yield influx
    except InfluxMissing as missing:
        pytest.skip(str(missing))


@contextmanager
def pushing_server(home: Path, **influx: Any) -> Iterator[MusterServer]:
    home.mkdir(mode=0o700)
    (home / "cards").write_text("2xA100\nload 0 87 20Gi 65 210\n")
    (home / "config.yaml").write_text(yaml.safe_dump({"influx": {"every": "1s", **influx}}))
    with running_server(home, {"MUSTER_FAKE_GPUS": f"@{home / 'cards'}"}) as server:
        yield server


def values(influx: Influx, database: str, query: str) -> list[dict[str, Any]]:
    """The first answer that is not empty: by series, its tags and the newest value that is one."""
    for _ in polls(_WITHIN_S, 0.2):
        series = influx.ask(query, database) if database in influx.databases() else []
        known = [(one["tags"], [row[1] for row in one["values"] if row[1] is not None]) for one in series]
        if found := [{**tags, "value": numbers[-1]} for tags, numbers in known if numbers]:
            return found
    raise AssertionError(f"no answer to {query}")


def exported(server: MusterServer) -> dict[str, float]:
    _, text = server.call("GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith("muster_export_points{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


def test_a_board_is_answered_from_what_a_server_pushed(influx: Influx, tmp_path: Path) -> None:
    with pushing_server(tmp_path / "home", url=influx.url, database="servers") as server:
        host = server.json("get", "nodes")["items"][0]["name"]
        where = f'WHERE "host" =~ /^{host}$/ AND'

        (cpu,) = values(
            influx,
            "servers",
            f'SELECT mean("value") FROM "cpu" {where} "cpu" = \'cpu-total\' AND {_RECENT}, "host"',
        )
        assert cpu["host"] == host
        assert 0 <= cpu["value"] <= 100

        free = values(influx, "servers", f'SELECT mean("mem_available") FROM "gpu" {where} {_RECENT}, "host", "gpu"')
        assert {one["gpu"]: one["value"] for one in free} == {"gpu0": 60 * 1024, "gpu1": 80 * 1024}
        busy = values(influx, "servers", f'SELECT mean("load") FROM "gpu" {where} {_RECENT}, "host", "gpu"')
        assert {one["gpu"]: round(one["value"], 6) for one in busy} == {"gpu0": 0.87, "gpu1": 0}

        (ram,) = values(influx, "servers", f'SELECT mean("available") FROM "ram" {where} {_RECENT}, "host"')
        assert ram["value"] > 1 << 20
        (disk,) = values(influx, "servers", f'SELECT mean("percent") FROM "disk" {where} {_RECENT}, "host"')
        assert 0 < disk["value"] <= 100
        assert {row[1] for row in influx.ask('SHOW TAG VALUES FROM "cpu" WITH KEY = "host"', "servers")[0]["values"]}
        assert exported(server)["sent"] > 0


def test_jobs_users_and_queues_are_pushed(influx: Influx, tmp_path: Path) -> None:
    with pushing_server(tmp_path / "home", url=influx.url, database="servers") as server:
        job = server.submit({"name": "trains", "command": "sleep 600", "resources": {"cpu": "100m", "gpu": 1}})
        server.submit({"name": "waits", "command": "true", "resources": {"cpu": "100m", "gpu": 2}})
        where = 'WHERE time > now() - 5m GROUP BY "id", "job", "user"'
        (gpus,) = values(influx, "servers", f'SELECT "gpus" FROM "job" {where}')
        assert (gpus["id"], gpus["job"], gpus["value"]) == (job["id"], "trains", 1)
        (memory,) = values(influx, "servers", f'SELECT "memory" FROM "job" {where}')
        assert memory["value"] > 0
        (queued,) = values(influx, "servers", 'SELECT max("queued") FROM "queue" GROUP BY "cluster"')
        assert (queued["cluster"], queued["value"]) == ("local", 1)
        (running,) = values(influx, "servers", 'SELECT max("gpus") FROM "user" GROUP BY "user"')
        assert (running["user"], running["value"]) == (gpus["user"], 1)
        server.run("kill", job["id"], check=True)


def test_every_panel_of_the_board_has_something_to_draw(influx: Influx, tmp_path: Path) -> None:
    board = json.loads(_BOARD.read_text(encoding="utf-8"))
    with pushing_server(tmp_path / "home", url=influx.url, database="servers"):
        for panel in board["panels"]:
            (target,) = panel["targets"]
            query = _as_grafana_asks(target["query"])
            if '"net"' in query and not _has_links(influx):
                continue  # a machine alone in the world
            assert values(influx, "servers", query), panel["title"]
        (servers, interfaces) = [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
        assert influx.ask(servers, "servers")
        assert influx.ask(_as_grafana_asks(interfaces), "servers") or not _has_links(influx)


def _as_grafana_asks(query: str) -> str:
    chosen = {"$server": ".*", "$interface": ".*", "$timeFilter": "time > now() - 5m", "$__interval": "10s"}
    for name, value in chosen.items():
        query = query.replace(name, value)
    return query


def _has_links(influx: Influx) -> bool:
    return bool(influx.ask('SHOW SERIES FROM "net"', "servers"))


def test_an_account_that_may_only_write_is_enough_where_the_database_is_there(guarded: Influx, tmp_path: Path) -> None:
    guarded.ask('CREATE DATABASE "servers"')
    guarded.ask("CREATE USER muster WITH PASSWORD 'only for writing'")
    guarded.ask('GRANT WRITE ON "servers" TO muster')
    secret = tmp_path / "password"
    secret.write_text("only for writing\n")
    secret.chmod(0o600)
    settings = {"url": guarded.url, "database": "servers", "user": "muster", "passwordFile": str(secret)}
    with pushing_server(tmp_path / "home", **settings) as server:
        assert values(guarded, "servers", f'SELECT mean("value") FROM "cpu" WHERE {_RECENT}, "host"')
        assert exported(server)["dropped"] == 0
    assert "only for writing" not in (tmp_path / "home" / "stderr.log").read_text()


def test_points_wait_for_a_database_that_is_away(influx: Influx, tmp_path: Path) -> None:
    influx.stop()
    with pushing_server(tmp_path / "home", url=influx.url, database="late") as server:
        assert any(exported(server)["waiting"] > 0 for _ in polls(_WITHIN_S))
        assert server.wait(server.submit({"name": "meanwhile", "command": "true"})["id"])["state"] == "Succeeded"
        influx.start()
        assert any(exported(server)["sent"] > 0 for _ in polls(_WITHIN_S))
        assert values(influx, "late", f'SELECT mean("used") FROM "ram" WHERE {_RECENT}, "host"')
    told = [json.loads(line) for line in (tmp_path / "home" / "stderr.log").read_text().splitlines()]
    assert [line["level"] for line in told if line["event"] == "InfluxDB is unavailable"] == ["warning"]


def test_a_password_that_others_may_read_keeps_the_server_from_starting(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("for everybody\n")
    secret.chmod(0o644)
    settings = {"url": "http://127.0.0.1:1", "user": "muster", "passwordFile": str(secret)}
    with pytest.raises(AssertionError) as refused, pushing_server(tmp_path / "home", **settings):
        pass
    assert f"chmod 600 {secret}" in str(refused.value)
    assert "for everybody" not in str(refused.value)
