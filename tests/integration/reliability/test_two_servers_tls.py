"""Two servers with certificates: the standby passes requests on over TLS, and says whose they are."""

import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from muster.bootstrap.tls import certificate_of
from muster.lib.fingerprints import unverified_context
from muster.settings.server import load_settings
from tests.parts.server import MusterServer, polls

from .conftest import unkindly_treated

Pair = tuple[MusterServer, MusterServer]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The first one acts; each has a home and a certificate of its own."""
    folder = tmp_path_factory.mktemp("pair")
    with ExitStack() as stack:
        servers = []
        for name in ("one", "two"):
            server = stack.enter_context(unkindly_treated(folder / name, f"sqlite:///{folder / 'shared.db'}"))
            server.home.mkdir()
            (server.home / "config.yaml").write_text("tlsSelfSigned: true\nlogFile: server.log\n")
            server.start()
            servers.append(server)
        yield servers[0], servers[1]


def test_the_standby_passes_requests_on_over_tls_before_and_after_both_certificates_are_renewed(
    pair: Pair, tmp_path: Path
) -> None:
    first, second = pair
    pinned = _pinned(first), _pinned(second)
    assert pinned[0] != pinned[1]
    assert _ran(second, tmp_path)
    for server in pair:
        _renew(server, tmp_path / "renewed")
    for before, server in zip(pinned, pair, strict=True):
        assert any(_pinned(server) != before for _ in polls(30)), "the new certificate is not in use"
    assert _ran(second, tmp_path), "the standby still expects the old certificate"
    assert _ran(first, tmp_path)


def test_people_behind_the_standby_are_slowed_down_by_their_own_address(pair: Pair) -> None:
    first, second = pair
    answers = [_log_in(second, "127.0.0.2") for _ in range(6)]
    assert answers == [*5 * [401], 429]
    assert _log_in(first, "127.0.0.2") == 429, "it is the same address on either way"
    assert _log_in(second, "127.0.0.3") == 401, "one person's mistakes must not lock out the others"


def test_nobody_else_can_choose_the_address_that_a_request_comes_from(pair: Pair) -> None:
    first, _ = pair
    forged = [{"X-Muster-Client": f"10.0.0.{number} https {64 * '0'}"} for number in range(6)]
    assert [_log_in(first, "127.0.0.4", **header) for header in forged] == [*5 * [401], 429]
    proxies = [{"X-Forwarded-For": f"10.0.1.{number}"} for number in range(6)]
    assert [_log_in(first, "127.0.0.5", **header) for header in proxies] == [*5 * [401], 429]


def test_each_server_answers_with_its_own_log(pair: Pair) -> None:
    for server, role, words in zip(pair, ("acting", "standby"), ("serving", "this server is a standby"), strict=True):
        shown = server.run("server", "logs", "-n", "1000", check=True)
        assert shown.stderr == f"the log of https://127.0.0.1:{server.port} ({role})\n"
        assert words in shown.stdout
        assert ("standby" in shown.stdout) == (role == "standby")


def test_a_request_is_passed_on_only_once(pair: Pair) -> None:
    _, second = pair
    assert _log_in(second, "127.0.0.6", **{"X-Muster-Client": "10.0.0.1 https 0"}) == 503


def _ran(server: MusterServer, folder: Path) -> bool:
    """A job, because reads might be answered from the store."""
    (folder / "empty").mkdir(exist_ok=True)
    done = server.run("run", "--", "echo", "over", "TLS", check=True, cwd=folder / "empty")
    return "over TLS" in done.stdout


def _pinned(server: MusterServer) -> str:
    contexts = json.loads((server.home / "context.json").read_text())["contexts"]
    return str(contexts["local"]["fingerprint"])


def _renew(server: MusterServer, folder: Path) -> None:
    folder.mkdir()
    certificate_of(load_settings({"home": str(folder), "tlsSelfSigned": True}, {}))
    for name in ("tls.key", "tls.crt"):
        (folder / name).replace(server.home / name)
    shutil.rmtree(folder)


def _log_in(server: MusterServer, address: str, **headers: str) -> int:
    """The status of a login with a wrong password from that address of this machine."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.port, timeout=90, source_address=(address, 0), context=unverified_context()
    )
    body: dict[str, Any] = {"user": "nobody", "password": "wrong-password"}
    try:
        connection.request("POST", "/api/v1/login", json.dumps(body), {"Content-Type": "application/json", **headers})
        return connection.getresponse().status
    finally:
        connection.close()
