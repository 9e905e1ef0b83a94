"""Secrets over the API: written, listed and removed by their owner, and never read back."""

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People, new_user, unique
from tests.parts.server import MusterServer, polls

VALUE = "hunter2-of-the-api"


def put(caller: Caller, name: str, value: bytes = VALUE.encode(), status: int = 201):  # type: ignore[no-untyped-def]
    return ok(caller.send("PUT", f"/secrets/{name}", content=value), status)


def names(caller: Caller) -> list[str]:
    return [item["name"] for item in ok(caller.get("/secrets"))["items"]]


def test_a_secret_is_listed_without_its_value_and_replaced(people: People) -> None:
    name, owner = unique("key"), people.owner
    first = put(owner, name)
    assert (first["name"], first["owner"], first["kind"], first["sizeBytes"]) == (name, owner.name, "text", len(VALUE))
    second = put(owner, name, b"\x00\xff", 200)
    assert (second["kind"], second["createdAt"]) == ("binary", first["createdAt"])
    assert names(owner).count(name) == 1
    assert owner.get(f"/secrets/{name}").status_code == 405


def test_names_belong_to_their_owner(people: People) -> None:
    name = unique("key")
    put(people.owner, name)
    put(people.other, name)
    assert names(people.admin).count(name) == 2
    ok(people.other.send("DELETE", f"/secrets/{name}"), 204)
    assert name in names(people.owner)
    assert name not in names(people.other)
    assert people.other.send("DELETE", f"/secrets/{name}").status_code == 404
    assert people.other.send("DELETE", f"/secrets/{name}?owner={people.owner.name}").status_code == 403
    ok(people.admin.send("DELETE", f"/secrets/{name}?owner={people.owner.name}"), 204)
    assert name not in names(people.owner)


def test_a_value_that_is_too_large_or_empty_is_refused(people: People) -> None:
    for value, status in ((b"x" * 65_537, 413), (b"", 422)):
        answer = people.owner.send("PUT", f"/secrets/{unique('key')}", content=value)
        assert (answer.status_code, b"xxx" in answer.content) == (status, False)
    assert people.owner.send("PUT", "/secrets/no:name", content=b"x").status_code in (400, 422)


def test_a_token_that_submits_jobs_sets_no_secrets(people: People) -> None:
    token = ok(people.owner.post("/tokens", {"name": "ci", "scope": "submit"}), 201)["secret"]
    submitter = Caller(people.server, token)
    assert submitter.send("PUT", f"/secrets/{unique('key')}", content=b"x").status_code == 403
    assert submitter.get("/secrets").status_code == 200


def test_the_number_of_secrets_is_a_quota(people: People) -> None:
    put(people.owner, unique("key"))
    quotas = ok(people.owner.get("/quotas?user=me"))["items"]
    (quota,) = [item for item in quotas if item["kind"] == "secrets"]
    assert (quota["limit"], quota["used"] > 0) == (100, True)


def test_an_unknown_secret_is_refused_at_its_line(people: People) -> None:
    source = f"name: {unique('job')}\ncommand: 'true'\nsecrets:\n- {{name: nowhere, env: KEY}}\n"
    answer = people.owner.post("/jobs", {"source": source})
    (problem,) = ok(answer, 422)["problems"]
    assert (problem["path"], problem["line"]) == ("secrets[0].name", 4)
    assert problem["hint"] == "create it: muster secret set nowhere"


def test_a_secret_is_nowhere_in_what_the_server_says_of_its_job(people: People) -> None:
    name = unique("key")
    put(people.owner, name)
    spec = {
        "name": unique("teller"),
        "command": 'echo "it is $KEY"; cat "$MUSTER_SECRETS/key"; echo "error: $KEY" >&2; exit 3',
        "secrets": [{"name": name, "env": "KEY"}, {"name": name, "file": "key"}],
    }
    dry = ok(people.owner.post("/jobs?dryRun=true", {"spec": spec}))
    assert dry["requests"][0]["env"]["KEY"] == "***"
    job = people.owner.submit(spec)["id"]
    people.server.wait(job)
    raw = people.owner.get(f"/jobs/{job}/logs/raw?task=worker-0").text
    assert raw == f"it is {'*' * len(VALUE)}\n{'*' * len(VALUE)}error: {'*' * len(VALUE)}\n"
    ranged = people.owner.get(f"/jobs/{job}/logs/raw?task=worker-0", headers={"Range": "bytes=8-11"})
    assert ranged.text == "****"
    with people.owner.stream(f"/jobs/{job}/logs") as events:
        assert VALUE not in "".join(str(event.data) for event in events)
    for path in ("", "/spec", "/explain", "/events", "/tasks"):
        assert VALUE not in people.owner.get(f"/jobs/{job}{path}").text
    assert VALUE not in people.admin.get("/events?limit=1000").text
    assert VALUE not in str(dry)


def test_a_removed_user_leaves_no_secrets(people: People) -> None:
    leaver = new_user(people.admin, "leaver")
    put(leaver, name := unique("key"))
    ok(people.admin.send("DELETE", f"/users/{leaver.name}"), 204)
    assert name not in names(people.admin)


def test_the_command_sets_lists_and_deletes_secrets(muster_server: MusterServer, tmp_path: Path) -> None:
    server, (line, file) = muster_server, (unique("line"), unique("file"))
    path = tmp_path / "value"
    path.write_bytes(b"two\nlines\n")
    server.run("secret", "set", line, input="one line\n", check=True)
    said = server.run("secret", "set", file, "--from-file", str(path), check=True).stderr
    assert "10 bytes" in said
    listed = {item["name"]: item["sizeBytes"] for item in server.json("get", "secrets")["items"]}
    assert (listed[line], listed[file]) == (8, 10)
    assert server.run("secret", "set", line, "an-argument").returncode == 2
    assert server.run("delete", f"secret/{line}").returncode == 2
    server.run("delete", "-y", f"secret/{line}", f"secrets/{file}", check=True)
    assert not {line, file} & {item["name"] for item in server.json("get", "secrets")["items"]}


def test_bash_completes_the_names_of_secrets(muster_server: MusterServer) -> None:
    name = unique("offered")
    muster_server.run("secret", "set", name, input="x", check=True)
    asked = {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": "muster delete secret/off", "COMP_CWORD": "2"}
    reached = {"MUSTER_SERVER": muster_server.url, "MUSTER_TOKEN": muster_server.token}
    command = str(Path(sys.executable).parent / "muster")
    for _ in polls(20):  # a completion gives up after a second, which a busy machine may need
        environment = {**os.environ, **asked, **reached}
        done = subprocess.run([command], env=environment, capture_output=True, text=True, check=False)
        if f"plain,secret/{name}" in done.stdout.split():
            return
    raise AssertionError(done)
