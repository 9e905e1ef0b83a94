"""The agent replaces symbols by the same rules as the server's own function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agent.batch.symbols import resolve_task
from muster.domain.launch_requests import LaunchRequest
from muster.launch.symbols import host_symbol, port_symbol, resolve_request

pytestmark = pytest.mark.fast
_PIECES = st.one_of(
    st.integers(0, 3).map(host_symbol),
    st.tuples(st.integers(0, 3), st.integers(0, 2)).map(lambda pair: str(port_symbol(*pair))),
    st.sampled_from([",", ":", " ", "42", "4200000", "muster-host-", ".symbol", "x", "1"]),
)
_TEXTS = st.lists(_PIECES, max_size=8).map("".join)
_HOSTFILES = st.lists(st.integers(0, 3).map(lambda rank: f"{host_symbol(rank)} slots=1\n"), max_size=5).map("".join)


@given(
    st.dictionaries(st.sampled_from(["A", "B", "MUSTER_NODES"]), _TEXTS),
    st.dictionaries(st.sampled_from(["hostfile", "other"]), st.one_of(_TEXTS, _HOSTFILES)),
    st.sets(st.sampled_from(["A", "B"])),
)
def test_both_replace_the_same(env: dict[str, str], files: dict[str, str], literal: set[str]) -> None:
    hosts, ports = {0: "n1", 1: "n1", 2: "n2"}, {0: [20000, 20001], 1: [20002], 2: []}
    request = LaunchRequest("j.1.worker.0", "", ("true",), env, files)
    expected = resolve_request(request, hosts, ports, literal=literal)
    found = resolve_task({"env": env, "files": files, "literal": sorted(literal)}, hosts, ports)
    assert (found["env"], found["files"]) == (dict(expected.env), dict(expected.files))


def test_host_file_names_a_node_once_with_a_slot_for_each_task_on_it() -> None:
    lines = "".join(f"{host_symbol(rank)} slots=1\n" for rank in range(3))
    task = {"env": {}, "files": {"hostfile": lines}, "literal": []}

    found = resolve_task(task, {0: "n1", 1: "n2", 2: "n1"}, {})

    assert found["files"]["hostfile"] == "n1 slots=2\nn2 slots=1\n"
