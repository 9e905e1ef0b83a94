"""The machines on the page, in a real browser: pretended cards of a real agent, real SSH hosts, a large pool."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.e2e.browsing import MISSING, Tab, browser_tab, chromium
from tests.parts.hosts import HostOptions, HostPool, hosts_unavailable
from tests.parts.server import MusterServer, polls, running_server
from tests.parts.ssh_cluster import CLUSTER, serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason=MISSING)]
WATCHED = """
  window.asked = [];
  const fetching = window.fetch;
  window.fetch = (path, ...rest) => { window.asked.push(String(path)); return fetching(path, ...rest); };
"""
"""What the page asks the server, in order."""
MARKUP = "<img src=x onerror='window.owned = 1'>"
PROGRAM = "<img onerror=1>"
"""The kernel keeps 15 letters of a program's name."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterServer]:
    home = tmp_path_factory.mktemp("machines")
    write(home, "")
    with running_server(home, {"MUSTER_FAKE_GPUS": f"@{home / 'cards'}"}) as running:
        yield running


@contextmanager
def machines(server: MusterServer, *, query: str = "", before: str = WATCHED) -> Iterator[Tab]:
    """The list of machines, as an admin sees it."""
    with browser_tab(f"{server.url}/#/nodes{query}", before) as tab:
        tab.log_in("", server.token)
        tab.wait_for("document.querySelector('.machine') && true")
        yield tab
        assert tab.errors == []


def write(home: Path, lines: str) -> None:
    """What becomes of the cards: whole or not at all, for the agent reads it at any time."""
    fresh = home / "cards.new"
    fresh.write_text(f"3xA100\n{lines}")
    fresh.replace(home / "cards")


def has(text: str, within: str = "#machines") -> str:
    return f"(document.querySelector({within!r})?.innerText ?? '').includes({text!r})"


def names(tab: Tab) -> list[str]:
    found = tab.run("[...document.querySelectorAll('.opener')].map(e => e.textContent)")
    return [str(name) for name in found]


def row(name: str) -> str:
    """The machine of that name, in a script."""
    return f"[...document.querySelectorAll('.machine')].find(e => e.querySelector('.opener').textContent === {name!r})"


def card(index: int, text: str) -> str:
    return has(text, f".card-list tbody tr:nth-child({index + 1})")


def test_cards_are_shown_with_what_they_do_who_has_them_and_why_nobody_may(server: MusterServer) -> None:
    half = {"name": "halves", "command": "sleep 600", "resources": {"cpu": "10m", "gpu": 0.5}, "grace": "0s"}
    job = server.submit(half)
    server.wait_for_state(job["id"], "Running")
    write(server.home, "load 2 87 12Gi 65 210\necc 1 3\n")
    with machines(server) as tab:
        tab.wait_for(card(2, "87 %"))
        for words in ("12.0 of 80.0 GiB", "65 °C", "210 W", "free"):
            assert tab.run(card(2, words)), words
        why = "3 memory errors that ECC could not correct: reset the GPU or replace it"
        tab.wait_for(card(1, f"out of service: {why}"))
        assert tab.run(has(f"GPU 1 is out of service: {why}", ".words-row"))
        assert tab.run(has("A100, 0.5 of 3 allocated, 1 out of service", "td.col-gpus"))
        assert tab.run("document.querySelectorAll('.col-gpus .card.out').length") == 1
        tab.wait_for(card(0, "halves (0.5 of it)"))
        tab.wait_for(has("Running, owned by ", ".task-list"))
        assert tab.run("document.querySelector('.task-list a').getAttribute('href')") == "#/jobs/halves"
        assert tab.run(has("127.0.0.1", "td.col-node"))
        assert tab.run(has("since ", "td.col-state"))
        for words, where in ((" GiB", "td.col-memory"), ("B on /", ".charts"), ("received ", "td.col-network")):
            assert tab.run(has(words, where)), words
        _show(tab, "machine")
        write(server.home, "")
        tab.wait_for("!document.querySelector('.card.out') && document.querySelector('.words-row').hidden")
    server.call("POST", f"/api/v1/jobs/{job['id']}/kill", {})
    server.wait(job["id"])


def test_a_cordon_is_seen_and_words_of_others_stay_words(server: MusterServer, tmp_path: Path) -> None:
    """The reason of an admin, and the name of a program on a card."""
    (tmp_path / PROGRAM).symlink_to("/bin/sleep")
    name = server.json("get", "nodes")["items"][0]["name"]
    with machines(server) as tab, subprocess.Popen([str(tmp_path / PROGRAM), "600"]) as other:
        try:
            write(server.home, f"process 0 {other.pid}\n")
            assert server.call("POST", f"/api/v1/nodes/{name}/cordon", {"reason": MARKUP})[0] == 200
            tab.wait_for("document.querySelector('.machine').matches('.Cordoned')")
            tab.wait_for(has("Cordoned", "td.col-state"))
            tab.wait_for(has(MARKUP, ".words-row .reason"))
            tab.wait_for(has(f"in use by {PROGRAM} (pid {other.pid})", ".words-row .alert"))
            tab.wait_for(card(0, f"in use by {PROGRAM}"))
            assert tab.run("document.querySelector('[data-state=Cordoned]').innerText.trim()").startswith("1")
            assert tab.run("window.owned === undefined && !document.querySelector('main img')")
            _show(tab, "cordoned")
        finally:
            other.kill()
            write(server.home, "")
            server.call("POST", f"/api/v1/nodes/{name}/uncordon")
        tab.wait_for("document.querySelector('.machine').matches('.Ready')")


def test_a_name_with_markup_is_text_and_no_nodes_are_said(server: MusterServer) -> None:
    """The server lets no such name in; the page does not rely on it."""
    doctored = """
      const honest = window.fetch;
      window.fetch = async (path, ...rest) => {
        const answer = await honest(path, ...rest);
        if (!String(path).endsWith("/nodes") || !window.change) return answer;
        return new Response(JSON.stringify(window.change(await answer.json())), answer);
      };
    """
    with machines(server, before=doctored) as tab:
        tab.run(
            f"window.change = ({{items}}) => ({{items: items.map(n => ({{...n, name: {MARKUP!r}, address: n.name}}))}})"
        )
        tab.wait_for(f"document.querySelector('.opener').textContent === {MARKUP!r}")
        tab.run("window.change = () => ({items: []})")
        tab.wait_for(has("There are no nodes yet", "#machines-note"))
        assert tab.run("document.querySelector('#machines-table').hidden && !document.querySelector('.machine')")
        assert tab.run("window.owned === undefined && !document.querySelector('main img')")
        tab.run("window.change = null")
        tab.wait_for("document.querySelectorAll('.machine').length === 1")


def test_only_what_is_new_is_asked_and_nothing_while_nobody_looks(server: MusterServer) -> None:
    by_hand = "window.ticks = []; window.setInterval = (tick, ms) => window.ticks.push([tick, ms]);"
    tick = "window.ticks.filter(([, ms]) => ms === 2000).forEach(([tick]) => tick())"
    done = "new Promise(done => setTimeout(() => setTimeout(() => done(true))))"
    whole, new = "asked.some(p => p.includes('since=300s'))", "asked.some(p => /since=20\\d\\d/.test(p))"
    with machines(server, before=WATCHED + by_hand) as tab:
        tab.wait_for(whole)
        tab.wait_for(f"({tick}, {new})")
        tab.wait_for(f"({tick}, document.querySelector('.charts .line')?.getAttribute('d').includes('L'))")

        tab.run("Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})")
        before = -1
        for _ in polls(30, 0.3):  # what was under way is answered first, and may ask for more
            if before == (before := tab.run("asked.length")):
                break
        assert tab.run(f"(async () => {{ {tick}; await {done}; return asked.length; }})()") == before

        tab.run("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        tab.wait_for(f"asked.slice({before}).includes('/api/v1/nodes')")


def test_of_a_large_pool_only_what_is_on_the_screen_is_asked_for(tmp_path: Path) -> None:
    many = [f"gpu{number}" for number in range(1, 201)]
    (tmp_path / "home" / "clusters.d").mkdir(parents=True)
    nodes = [{"name": name, "host": "127.0.0.1", "port": 1} for name in many]
    pool = {"name": CLUSTER, "backend": "ssh", "nodes": nodes}
    (tmp_path / "home" / "clusters.d" / "lab.yaml").write_text(yaml.safe_dump(pool))
    with running_server(tmp_path / "home") as server, machines(server) as tab:
        local = server.json("get", "nodes", "-o", "json")["items"][0]["name"]
        tab.wait_for("document.querySelectorAll('.machine').length === 201")
        tab.wait_for("asked.some(p => p.includes('usage?'))")
        assert names(tab)[-1] == local, "who needs nobody comes last"
        assert names(tab)[:3] == ["gpu1", "gpu2", "gpu3"], "as people count"
        _show(tab, "pool")
        tab.run("document.querySelector('.machine:nth-last-child(30)').scrollIntoView()")
        tab.wait_for("asked.some(p => p.includes('/gpu175/usage'))")
        of_whom = "new Set(asked.filter(p => p.includes('/usage?')).map(p => p.split('/')[4])).size"
        assert tab.run(of_whom) < 100

        tab.run("document.querySelector('#machines-cluster').focus()")
        tab.run("document.querySelector('#machines-cluster').value = 'local'")
        tab.run("document.querySelector('#machines-cluster').dispatchEvent(new Event('change'))")
        assert names(tab) == [local]
        assert tab.run("location.hash") == "#/nodes?cluster=local"
        _back_by_address(tab, "#/nodes?text=gpu19")
        tab.wait_for("document.querySelectorAll('.machine').length === 11")
        tab.click("#machines-states [data-state='']")
        _back_by_address(tab, "#/nodes?state=Ready")
        tab.wait_for("document.querySelectorAll('.machine').length === 1")
        assert tab.run("document.querySelector('[data-state=Ready]').getAttribute('aria-pressed')") == "true"
        tab.click("[data-state=Ready]")
        tab.wait_for("document.querySelectorAll('.machine').length === 201")


def test_the_keyboard_opens_a_machine_and_stays_where_it_is(server: MusterServer) -> None:
    with machines(server) as tab:
        asked = "document.querySelector('.details-row').hidden"
        assert not tab.run(asked), "of so few all are open"
        tab.run("document.querySelector('#machines-open').focus()")
        tab.press("Tab")
        assert tab.run("document.activeElement.className") == "opener"
        tab.press("Enter", "\r")
        assert tab.run(asked)
        rounds = tab.run("asked.filter(p => p.endsWith('/nodes')).length")
        tab.wait_for(f"asked.filter(p => p.endsWith('/nodes')).length > {rounds} + 1")
        assert tab.run("document.activeElement.className") == "opener"
        tab.press("Enter", "\r")
        tab.wait_for(f"!{asked}")


@pytest.mark.parametrize("width", [360, 620, 900, 1280])
def test_nothing_is_wider_than_the_screen(server: MusterServer, width: int) -> None:
    with machines(server) as tab:
        tab.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        tab.wait_for("!!document.querySelector('.charts .line')")
        tab.wait_for(f"innerWidth === {width}")
        assert tab.run("document.documentElement.scrollWidth") <= width
        _show(tab, f"machine-{width}")


@pytest.mark.skipif(hosts_unavailable() is not None, reason=str(hosts_unavailable()))
def test_a_host_that_goes_away_is_seen_at_a_glance_and_when_it_is_back(tmp_path: Path) -> None:
    with (
        HostPool([HostOptions(fake_gpus="2xA100")] * 3) as pool,
        serving(tmp_path / "home", pool, unreachableAfter="2s", lostAfter="90s") as server,
        machines(server, query=f"?cluster={CLUSTER}") as tab,
    ):
        first, second, third = (host.name for host in pool.hosts)
        assert names(tab) == sorted(host.name for host in pool.hosts)
        server.run("node", "drain", third, "--reason", "new GPUs on Monday", check=True)
        _wait_for_samples(server, second, 2)
        pool[1].cut()
        tab.wait_for(f"{row(second)}.matches('.Unreachable.stale')", 60)
        tab.wait_for(f"{row(third)}.matches('.Draining')")
        tab.wait_for(has("new GPUs on Monday", ".Draining .words-row"))
        assert names(tab) == [second, third, first], "who needs somebody comes first"
        assert tab.run("document.querySelector('#machines-states').innerText").split() == [
            *("3", "All", "1", "Unreachable", "1", "Draining", "1", "Ready")
        ]
        tab.click("#machines-open")
        tab.wait_for(has("These are its last metrics", ".Unreachable .details"))
        tab.wait_for("document.querySelector('.Unreachable .charts .line')?.getAttribute('d').includes('L')")
        _show(tab, "hosts")
        pool[1].mend()
        tab.wait_for(f"{row(second)}.matches('.Ready:not(.stale)')", 60)


def _wait_for_samples(server: MusterServer, node: str, count: int) -> None:
    """One alone makes no line."""
    for _ in polls(60):
        _, ring = server.call("GET", f"/api/v1/nodes/{node}/usage")
        if len(ring["items"]) >= count:
            return
    raise AssertionError(ring)


def _back_by_address(tab: Tab, address: str) -> None:
    tab.run(f"location.hash = {address!r}")


def _show(tab: Tab, name: str) -> None:
    """Pictures for whoever wants to look: MUSTER_PAGE_PICTURES names a folder."""
    if folder := os.environ.get("MUSTER_PAGE_PICTURES"):
        tab.screenshot(Path(folder) / f"machines-{name}.png")
