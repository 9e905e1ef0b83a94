"""Rules and notices of a real server, with a real mail server and webhook receivers, over kills of the server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.calling import Caller, ok, problem
from tests.integration.api.people import new_user
from tests.parts.mail_server import MailServer, running_mail_server
from tests.parts.server import MusterServer, polls, running_server
from tests.parts.webhook_receiver import webhook_receiver

ALWAYS = {"check": "node-disk", "threshold": 0, "for": "0s", "keep": "0s", "severity": "critical"}
NEVER = {**ALWAYS, "threshold": 100}
OFF = dict.fromkeys(("NodeFilesystemUsage", "NodeMemoryUsage", "ServerFilesystemUsage"), "off")


def write_rules(home: Path, disk: dict[str, Any], **more: Any) -> None:
    home.mkdir(parents=True, exist_ok=True)
    new = home / "alerts.new"
    new.write_text(json.dumps({"interval": "1s", "rules": {**OFF, "Disk": disk}, **more}))
    new.rename(home / "alerts.yaml")


def firing(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    return [dict(item) for item in ok(caller.get("/alerts/firing", params=query))["items"] if item["rule"] == "Disk"]


def wait_for(what: str, condition: Any) -> Any:
    for _ in polls(90):
        if found := condition():
            return found
    pytest.fail(f"it never came: {what}")


def subjects(mails: MailServer) -> list[str]:
    return [mail.subject for mail in mails.mails]


def evaluated_again(server: MusterServer, admin: Caller, home: Path) -> None:
    """Wait until the server has evaluated its rules since now: a rule of its own appears among the alerts."""
    document = json.loads((home / "alerts.yaml").read_text())
    name = f"Probe{len(document['rules'])}"
    document["rules"][name] = {**ALWAYS, "do": []}
    new = home / "alerts.new"
    new.write_text(json.dumps(document))
    new.rename(home / "alerts.yaml")
    assert server.is_running
    wait_for("a round", lambda: name in {item["rule"] for item in ok(admin.get("/alerts/firing"))["items"]})


def test_what_fires_is_mailed_once_over_kills_and_its_end_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_mail_server() as mails:
        mail = {"smtp": {"host": "127.0.0.1", "port": mails.port, "from": "muster@example.org"}}
        to = {"mailTo": ["ops@example.org"], **mail}
        write_rules(home, ALWAYS, **to)
        with running_server(home) as server:
            (first,) = mails.wait_for(1)
            assert (first.recipients, first.sender) == (("ops@example.org",), "muster@example.org")
            assert first.subject.startswith("[Muster] Disk: ")
            assert "Rule Disk, critical" in first.text
            for _ in range(2):
                server.kill()
                server.start()
                admin = Caller(server, server.token)
                evaluated_again(server, admin, home)
            assert [one for one in subjects(mails) if "Disk" in one] == [first.subject]
            (alert,) = firing(admin)
            assert (alert["state"], alert["told"], alert["severity"]) == ("firing", True, "critical")
            assert (alert["check"], alert["message"][:4]) == ("node-disk", "the ")
            (chinese,) = firing(admin, language="zh")
            assert (chinese["id"], chinese["message"][:2]) == (alert["id"], "节点")
            write_rules(home, NEVER, **to)
            wait_for("the mail of its end", lambda: len([one for one in subjects(mails) if "Disk" in one]) == 2)
            assert "is over" in subjects(mails)[-1]
            (past,) = [one for one in ok(admin.get("/alerts/history"))["items"] if one["rule"] == "Disk"]
            assert past["state"] == "resolved"
            kinds = [one["kind"] for one in ok(admin.get("/audit", params={"limit": 200}))["items"]]
            assert {"audit.alert.fire", "audit.alert.resolve", "audit.notice.send"} <= set(kinds)


def test_a_flood_of_alerts_is_one_mail_and_each_is_told_to_programs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    names = [f"Disk{number}" for number in range(7)]
    with running_mail_server() as mails, webhook_receiver() as hook:
        document = {
            "interval": "1s",
            "rules": {**OFF, **dict.fromkeys(names, ALWAYS)},
            "mailTo": ["ops@example.org"],
            "smtp": {"host": "127.0.0.1", "port": mails.port},
            "notices": [{"kind": "webhook", "url": f"http://127.0.0.1:{hook.port}/"}],
        }
        (home / "alerts.yaml").write_text(json.dumps(document))
        with running_server(home) as server:
            (mail,) = mails.wait_for(1)
            assert mail.subject.startswith("[Muster] (7) Disk")
            assert all(f"Rule {name}, critical" in mail.text for name in names)
            wait_for("all by webhook", lambda: {one["data"]["rule"] for one in hook.got} == set(names))
            admin = Caller(server, server.token)
            listed = ok(admin.get("/notices", params={"admins": True}))["items"]
            assert [one["sentAt"] is None for one in listed if one["way"] == "mail"] == [False] * 7
            server.kill()
            server.start()
            evaluated_again(server, Caller(server, server.token), home)
            assert len(mails.mails) == 1


def test_admins_hear_nothing_of_the_end_of_what_they_were_not_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_mail_server() as mails:
        to = {"mailTo": ["ops@example.org"], "smtp": {"host": "127.0.0.1", "port": mails.port}}
        write_rules(home, {**ALWAYS, "do": []}, **to)
        with running_server(home) as server:
            admin = Caller(server, server.token)
            wait_for("the alert", lambda: firing(admin))
            new = home / "alerts.new"
            new.write_text(json.dumps({"interval": "1s", "rules": OFF, **to}))
            new.rename(home / "alerts.yaml")
            wait_for("its end", lambda: not firing(admin))
            write_rules(home, ALWAYS, **to)
            mails.wait_for(1)
            assert not [one for one in subjects(mails) if "is over" in one]


def test_a_wrong_file_is_told_and_the_rules_of_before_hold(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_rules(home, ALWAYS)
    with running_server(home) as server:
        admin = Caller(server, server.token)
        wait_for("the alert", lambda: firing(admin))
        (home / "alerts.yaml").write_text("interval: 1s\nrules:\n  Disk: {check: node-disk, treshold: 5}\n")
        told = wait_for("the problem", lambda: ok(admin.get("/alerts/rules"))["problems"])
        assert "line 3" in told[0]
        assert "did you mean threshold?" in told[0]
        assert firing(admin)
        assert "Disk" in {rule["name"] for rule in ok(admin.get("/alerts/rules"))["items"]}


def test_silences_are_for_admins_and_keep_an_alert_untold(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_mail_server() as mails:
        smtp = {"host": "127.0.0.1", "port": mails.port}
        write_rules(home, NEVER, mailTo=["ops@example.org"], smtp=smtp)
        with running_server(home) as server:
            admin = Caller(server, server.token)
            user = new_user(admin, "user")
            problem(user.post("/alerts/silences", {"rule": "Disk", "for": "1h"}), 403, "forbidden")
            problem(admin.post("/alerts/silences", {"rule": "Disk", "for": "0s"}), 400, "bad-request")
            refused = problem(admin.post("/alerts/silences", {"rule": "Nosuch", "for": "1h"}), 422, "invalid")
            assert "there is no rule 'Nosuch'" in refused["detail"]
            assert "Disk" in refused["hint"]
            made = ok(admin.post("/alerts/silences", {"rule": "Disk", "for": "1h", "reason": "new disk"}), 201)
            write_rules(home, ALWAYS, mailTo=["ops@example.org"], smtp=smtp)
            (alert,) = wait_for("the alert", lambda: firing(admin))
            assert (alert["silencedBy"], alert["told"]) == (made["id"], False)
            assert firing(user) == [], "it is about no job of theirs"
            assert ok(user.get("/alerts/history"))["items"] == []
            evaluated_again(server, admin, home)
            assert not [one for one in subjects(mails) if "Disk" in one]
            ok(admin.send("DELETE", f"/alerts/silences/{made['id']}"), 204)
            problem(admin.send("DELETE", f"/alerts/silences/{made['id']}"), 404, "not-found")
            mails.wait_for(1)
            assert ok(admin.get("/alerts/silences"))["items"] == []


def test_a_way_that_does_not_answer_delays_no_other_and_gets_its_notice_later(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_mail_server() as mails, webhook_receiver() as stuck, webhook_receiver() as wrong:
        stuck.is_free.clear()
        wrong.status = 500
        ways = [
            {"kind": "webhook", "url": f"http://127.0.0.1:{stuck.port}/stuck", "timeout": "60s"},
            {"kind": "webhook", "url": f"http://127.0.0.1:{wrong.port}/wrong"},
            {"kind": "webhook", "url": "http://127.0.0.1:1/refused"},
        ]
        smtp = {"host": "127.0.0.1", "port": mails.port}
        write_rules(home, ALWAYS, mailTo=["ops@example.org"], smtp=smtp, notices=ways)
        with running_server(home) as server:
            admin = Caller(server, server.token)
            mails.wait_for(1)
            wait_for("a second try", lambda: wrong.calls >= 2)
            assert wrong.got == stuck.got == []
            listed = ok(admin.get("/notices", params={"admins": True}))["items"]
            errors = {one["way"]: one["error"] for one in listed}
            assert errors["notices[1] webhook"] == "127.0.0.1 answered 500: ok"
            assert errors["notices[2] webhook"] == "127.0.0.1 refused the connection"
            wrong.status = 200
            stuck.is_free.set()
            wait_for("both", lambda: wrong.got and stuck.got)
            (got,) = stuck.got
            assert (got["kind"], got["data"]["rule"], got["data"]["state"]) == ("failure", "Disk", "firing")
            assert len(wrong.got) == 1


def run_to_its_end(caller: Caller, command: str) -> str:
    job = ok(caller.post("/jobs", {"spec": {"name": "train", "command": command}}), 201)
    wait_for("its end", lambda: ok(caller.get(f"/jobs/{job['id']}"))["state"] in ("Succeeded", "Failed"))
    return str(job["id"])


def test_users_are_told_of_their_own_jobs_by_mail_and_chat_and_no_secret_is_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running_mail_server() as mails, webhook_receiver() as chat:
        mails.answer = "451 try later"
        write_rules(
            home,
            NEVER,
            smtp={"host": "127.0.0.1", "port": mails.port},
            userWebhookHosts=[f"127.0.0.1:{chat.port}"],
            userMailDomains=["example.org"],
        )
        with running_server(home) as server:
            admin = Caller(server, server.token)
            amy, bob = new_user(admin, "amy"), new_user(admin, "bob")
            mine = {"on": ["failed", "succeeded"], "mail": "amy@example.org", "language": "zh"}
            wrong = problem(amy.send("PUT", "/notices/settings", json={**mine, "mail": "a@evil.org"}), 422, "invalid")
            assert "example.org" in json.dumps(wrong)
            missing = {**mine, "webhook": "slack", "webhookSecret": "chat"}
            problem(amy.send("PUT", "/notices/settings", json=missing), 422, "invalid")
            address = f"http://127.0.0.1:{chat.port}/services/T0PSECRET"
            ok(amy.send("PUT", "/secrets/chat", content=address.encode()), 201)
            shown = ok(amy.send("PUT", "/notices/settings", json=missing))
            assert (shown["ways"], shown["webhookSecret"]) == (["mail", "slack"], "chat")
            assert ok(bob.get("/notices/settings"))["mail"] is None
            failed = run_to_its_end(amy, "exit 3")
            run_to_its_end(bob, "exit 3")
            wait_for("the chat", lambda: chat.got)
            assert chat.got[0]["text"].startswith("[Muster] 作业 train 失败")
            (waiting,) = [one for one in ok(amy.get("/notices"))["items"] if one["way"] == "mail"]
            assert waiting["sentAt"] is None
            server.kill()
            mails.answer = None
            server.start()
            amy = Caller(server, amy.token, amy.name)
            (mail,) = mails.wait_for(1)
            assert mail.recipients == ("amy@example.org",)
            assert failed in mail.text
            done = run_to_its_end(amy, "true")
            assert done in mails.wait_for(2)[-1].text
            wait_for("the second chat", lambda: len(chat.got) == 2)
            assert [len(mails.mails), len(chat.got)] == [2, 2]
            everything = json.dumps([ok(amy.get("/notices")), ok(amy.get("/notices/settings"))])
            everything += (home / "stderr.log").read_text()
            assert "T0PSECRET" not in everything


@pytest.mark.parametrize("address", ["http://127.0.0.1:{port}/metadata", "https://127.0.0.1:{port}/", "http://[::1]/"])
def test_the_webhook_of_a_user_is_no_way_into_the_network_of_the_server(tmp_path: Path, address: str) -> None:
    home = tmp_path / "home"
    with webhook_receiver() as inside:
        write_rules(home, NEVER, userWebhookHosts=["hooks.example.org"])
        with running_server(home) as server:
            admin = Caller(server, server.token)
            amy = new_user(admin, "amy")
            ok(amy.send("PUT", "/secrets/hook", content=b"https://hooks.example.org/T0PSECRET"), 201)
            settings = {"on": ["failed"], "webhook": "webhook", "webhookSecret": "hook"}
            ok(amy.send("PUT", "/notices/settings", json=settings))
            ok(amy.send("PUT", "/secrets/hook", content=address.format(port=inside.port).encode()))
            for refused in (amy.send("PUT", "/notices/settings", json=settings), amy.post("/notices/test", {})):
                said = json.dumps(problem(refused, 422, "invalid"))
                assert "'hook' is no address that this server posts to" in said
                assert "hooks.example.org" in said
                assert not [one for one in ("127.0.0.1", "[::1]", "metadata") if one in said]
            short = problem(
                amy.send("PUT", "/notices/settings", json={**settings, "waiting": "5s"}), 400, "bad-request"
            )
            assert "must be at least 1m" in json.dumps(short)
            run_to_its_end(amy, "exit 3")
            (notice,) = wait_for(
                "the refusal", lambda: [one for one in ok(amy.get("/notices"))["items"] if one["error"]]
            )
            assert "do not allow this address" in notice["error"]
            assert (notice["sentAt"], inside.calls) == (None, 0)
