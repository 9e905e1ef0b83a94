"""What a server says beside its answer reaches whoever asked."""

import json

import pytest

from muster.client import Client, Job
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast

SPEC = Job(name="mnist", command="true")


@pytest.mark.parametrize(
    ("header", "heard"),
    [(json.dumps("line 3: 队列 has no effect"), "line 3: 队列 has no effect"), ("not JSON", "not JSON")],
)
def test_warning_header_is_a_python_warning(server: TinyServer, header: str, heard: str) -> None:
    server.on("POST", "/jobs", Answer(201, a_job(), headers={"Muster-Warning": header}))

    with pytest.warns(UserWarning, match=f"^{heard}$"):
        Client(server.url).submit(SPEC)


def test_warning_goes_to_whoever_asked_for_it_instead(server: TinyServer) -> None:
    server.on("POST", "/jobs", Answer(201, a_job(), headers={"Muster-Warning": '"mind the gap"'}))
    client, heard = Client(server.url), list[str]()
    client.transport.on_warning = heard.append

    client.submit(SPEC)

    assert heard == ["mind the gap"]
