"""The robots of chats: Feishu, DingTalk, WeCom and Slack. Each is an address that takes JSON.

Messages are plain text, so that nothing that a user has written becomes a link, a mention or a format; what would be
one in plain text, too, is changed. The first three answer 200 also if they refuse a message, with a code in the body.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from muster.lib.clock import Clock, wall_clock
from muster.notifiers.http_posting import Answered, post, shortened
from muster.ports.notifying import NotDelivered, Notice

Body = Mapping[str, Any]
_CUT = "\n…"
_FEISHU_TAG = re.compile(r"<(?=\s*/?\s*at\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chat:
    """`body` and `address` get the text or the address, the secret, which may be empty, and the time. `refusal`
    returns what an answer with status 200 complains about, else an empty text."""

    name: str
    most_bytes: int
    body: Callable[[str, str, float], Body]
    address: Callable[[str, str, float], str]
    refusal: Callable[[Answered], str]


@dataclass(frozen=True, slots=True)
class ChatRobot:
    chat: Chat
    webhook: str = field(repr=False)
    secret: str = field(repr=False)
    timeout_s: float
    clock: Clock = wall_clock

    def send(self, notice: Notice) -> str:
        now = self.clock()
        text = cut(f"{notice.title}\n\n{notice.text}".strip(), self.chat.most_bytes)
        body = json.dumps(self.chat.body(text, self.secret, now), ensure_ascii=False).encode()
        answered = post(self.chat.address(self.webhook, self.secret, now), body, self.timeout_s)
        if problem := self.chat.refusal(answered):
            raise NotDelivered(f"{self.chat.name} refused the message: {problem}")
        return ""


def cut(text: str, most_bytes: int) -> str:
    """The beginning of the text that has no more than so many bytes."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT


def _feishu(text: str, secret: str, now: float) -> Body:
    """Feishu has tags in plain text: `<at user_id="all">` would call everybody."""
    body: dict[str, Any] = {"msg_type": "text", "content": {"text": _FEISHU_TAG.sub("＜", text)}}
    if not secret:
        return body
    stamp = str(int(now))
    # The key is the text to be signed, and the message is empty: that is how Feishu documents it.
    return {"timestamp": stamp, "sign": _signature(f"{stamp}\n{secret}", ""), **body}


def _dingtalk(text: str, _secret: str, _now: float) -> Body:
    return {"msgtype": "text", "text": {"content": text}}


def _dingtalk_address(webhook: str, secret: str, now: float) -> str:
    if not secret:
        return webhook
    stamp = str(round(now * 1000))
    query = urlencode({"timestamp": stamp, "sign": _signature(secret, f"{stamp}\n{secret}")})
    return f"{webhook}{'&' if '?' in webhook else '?'}{query}"


def _wecom(text: str, _secret: str, _now: float) -> Body:
    return {"msgtype": "text", "text": {"content": text}}


def _slack(text: str, _secret: str, _now: float) -> Body:
    """Slack asks for these three to be escaped; without them there is no mention and no link with another text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": escaped, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}


def _signature(key: str, message: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), message.encode(), hashlib.sha256).digest()).decode("ascii")


def _same(webhook: str, _secret: str, _now: float) -> str:
    return webhook


def _refused_by(code_key: str, words_key: str) -> Callable[[Answered], str]:
    def refusal(answered: Answered) -> str:
        document = answered.document
        if not isinstance(document, dict) or code_key not in document:
            return f"the answer has no {code_key}: {shortened(answered.text) or 'nothing'}"
        code = document[code_key]
        return "" if code == 0 else f"{code} {shortened(str(document.get(words_key, '')))}".strip()

    return refusal


def _refused_by_slack(answered: Answered) -> str:
    return "" if answered.text.strip() == "ok" else shortened(answered.text) or "the answer is empty"


CHATS: Mapping[str, Chat] = {
    "feishu": Chat("Feishu", 15_000, _feishu, _same, _refused_by("code", "msg")),
    "dingtalk": Chat("DingTalk", 15_000, _dingtalk, _dingtalk_address, _refused_by("errcode", "errmsg")),
    "wecom": Chat("WeCom", 2_048, _wecom, _same, _refused_by("errcode", "errmsg")),
    "slack": Chat("Slack", 15_000, _slack, _same, _refused_by_slack),
}
