"""Webhooks and the robots of chats, towards a real HTTP server that answers well, wrongly, slowly or not at all."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator

import pytest

from muster.notifiers.chat_robots import CHATS, ChatRobot, cut
from muster.notifiers.webhook import Webhook
from muster.ports.notifying import NotDelivered, Notice, NoticeKind
from tests.parts.dripping import dripping
from tests.unit.client.tiny_server import DROP, Answer, Asked, TinyServer

pytestmark = pytest.mark.fast

NOTICE = Notice("1m7noticenotice1", NoticeKind.FAILURE, "gpu1 故障", "because <!channel> & more", 1e9, data={"a": [1]})
TEXT = "gpu1 故障\n\nbecause <!channel> & more"
GOOD = {"feishu": {"code": 0, "msg": "success"}, "dingtalk": {"errcode": 0, "errmsg": "ok"}, "wecom": {"errcode": 0}}


@pytest.fixture
def server() -> Iterator[TinyServer]:
    running = TinyServer()
    yield running
    running.stop()


def a_robot(server: TinyServer, kind: str, secret: str = "", timeout_s: float = 10.0) -> ChatRobot:
    return ChatRobot(CHATS[kind], f"{server.url}/api/v1/hook?key=s3cretkey", secret, timeout_s, lambda: 1700000000.25)


def sent(server: TinyServer) -> Asked:
    (asked,) = server.asked
    return asked


def test_a_webhook_gets_everything_as_json(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(204, b""))
    assert Webhook(f"{server.url}/api/v1/hook", "", 10.0).send(NOTICE) == ""
    asked = sent(server)
    assert asked.json == {
        "id": "1m7noticenotice1",
        "kind": "failure",
        "at": "2001-09-09T01:46:40.000Z",
        "title": "gpu1 故障",
        "text": "because <!channel> & more",
        "data": {"a": [1]},
    }
    assert asked.headers["X-Muster-Notice"] == "1m7noticenotice1"
    assert "X-Muster-Signature" not in asked.headers


def test_a_webhook_with_a_secret_is_signed(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, {}))
    Webhook(f"{server.url}/api/v1/hook", "s3cret", 10.0).send(NOTICE)
    expected = hmac.new(b"s3cret", sent(server).body, hashlib.sha256).hexdigest()
    assert sent(server).headers["X-Muster-Signature"] == f"sha256={expected}"


def test_feishu_gets_text_and_the_signature_that_it_documents(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, GOOD["feishu"]))
    a_robot(server, "feishu", "sec").send(NOTICE)
    sign = base64.b64encode(hmac.new(b"1700000000\nsec", b"", hashlib.sha256).digest()).decode()
    assert sent(server).json == {
        "timestamp": "1700000000",
        "sign": sign,
        "msg_type": "text",
        "content": {"text": TEXT},
    }


def test_no_text_calls_everybody_in_feishu(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, GOOD["feishu"]))
    text = '<at user_id="all">x</at> < AT user_id="all"/> a < b <attempt>'
    a_robot(server, "feishu").send(Notice("1", NoticeKind.FAILURE, "t", text, 0.0))
    content = sent(server).json["content"]["text"]
    assert content == 't\n\n＜at user_id="all">x＜/at> ＜ AT user_id="all"/> a < b <attempt>'


def test_dingtalk_gets_text_and_its_signature_in_the_address(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, GOOD["dingtalk"]))
    a_robot(server, "dingtalk", "sec").send(NOTICE)
    asked = sent(server)
    sign = base64.b64encode(hmac.new(b"sec", b"1700000000250\nsec", hashlib.sha256).digest()).decode()
    assert asked.query == {"key": ["s3cretkey"], "timestamp": ["1700000000250"], "sign": [sign]}
    assert asked.json == {"msgtype": "text", "text": {"content": TEXT}}


def test_wecom_gets_no_more_than_it_takes(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, GOOD["wecom"]))
    long = Notice("1", NoticeKind.DIGEST, "标题", "很长" * 2000, 0.0)
    a_robot(server, "wecom").send(long)
    content = sent(server).json["text"]["content"]
    assert content.startswith("标题\n\n很长")
    assert len(content.encode()) <= 2048
    assert content.endswith("…")


def test_slack_gets_text_without_mentions(server: TinyServer) -> None:
    server.on("POST", "/hook", Answer(200, b"ok"))
    a_robot(server, "slack").send(NOTICE)
    assert sent(server).json["text"] == "gpu1 故障\n\nbecause &lt;!channel&gt; &amp; more"


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("feishu", {"code": 19021, "msg": "sign match fail"}, "Feishu refused the message: 19021 sign match fail"),
        ("dingtalk", {"errcode": 310000, "errmsg": "sign not match"}, "DingTalk refused the message: 310000 sign"),
        ("wecom", {"errcode": 93000, "errmsg": "invalid webhook url"}, "WeCom refused the message: 93000 invalid"),
        ("slack", b"invalid_token", "Slack refused the message: invalid_token"),
        ("feishu", b"<html>a proxy</html>", "the answer has no code: <html>a proxy"),
        ("dingtalk", [1], "the answer has no errcode"),
        ("wecom", b"", "the answer has no errcode: nothing"),
        ("slack", b"", "the answer is empty"),
    ],
)
def test_a_refusal_with_status_200_is_not_delivered(server: TinyServer, kind: str, body: object, words: str) -> None:
    server.on("POST", "/hook", Answer(200, body))
    with pytest.raises(NotDelivered, match=words):
        a_robot(server, kind).send(NOTICE)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(500, b"oops"), "127.0.0.1 answered 500: oops"),
        (Answer(404, b""), "127.0.0.1 answered 404: nothing"),
        (Answer(302, b"", headers={"Location": "/elsewhere"}), "127.0.0.1 answered 302"),
        (DROP, "127.0.0.1 (does not answer as a web server|cannot be reached)"),
    ],
)
@pytest.mark.parametrize("kind", ["webhook", *CHATS])
def test_whatever_goes_wrong_is_told_without_the_address(
    server: TinyServer, kind: str, answer: Answer, words: str
) -> None:
    server.on("POST", "/hook", answer)
    address = f"{server.url}/api/v1/hook?key=s3cretkey"
    notifier = Webhook(address, "", 10.0) if kind == "webhook" else ChatRobot(CHATS[kind], address, "", 10.0)
    with pytest.raises(NotDelivered, match=words) as refused:
        notifier.send(NOTICE)
    assert "s3cretkey" not in f"{refused.value}{notifier!r}"


def test_an_answer_that_does_not_come_is_given_up(server: TinyServer) -> None:
    held = threading.Event()

    def never(_: Asked) -> Answer:
        held.wait(60)
        return Answer(200, {})

    server.on("POST", "/hook", never)
    with pytest.raises(NotDelivered, match=r"did not answer within 0\.2 s"):
        Webhook(f"{server.url}/api/v1/hook", "", 0.2).send(NOTICE)
    held.set()


def test_an_answer_that_never_ends_is_given_up() -> None:
    with dripping() as port, pytest.raises(NotDelivered, match=r"127\.0\.0\.1 did not answer within 0\.3 s"):
        Webhook(f"http://127.0.0.1:{port}/hook", "", 0.3).send(NOTICE)


@pytest.mark.parametrize("address", ["http://a..b/s3cret", f"http://{'a' * 64}.org/s3cret"])
def test_an_address_that_leads_nowhere_is_told(address: str) -> None:
    with pytest.raises(NotDelivered, match="cannot be reached: its name is none") as refused:
        Webhook(address, "", 10.0).send(NOTICE)
    assert "s3cret" not in str(refused.value)


def test_nobody_listens(server: TinyServer) -> None:
    server.stop()
    with pytest.raises(NotDelivered, match="refused the connection"):
        Webhook(f"{server.url}/api/v1/hook", "", 10.0).send(NOTICE)


def test_text_is_cut_at_whole_characters() -> None:
    assert cut("中文", 6) == "中文"
    assert len(cut("中" * 100, 50).encode()) <= 50
    assert json.loads(json.dumps(cut("\ud800x", 100))) == "?x"
