"""Posts a notice as JSON to any address. With a secret, the body is signed, which shows who sent it."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field

from muster.lib.clock import iso
from muster.notifiers.http_posting import post
from muster.ports.notifying import Notice

SIGNATURE = "X-Muster-Signature"
NOTICE_ID = "X-Muster-Notice"


@dataclass(frozen=True, slots=True)
class Webhook:
    address: str = field(repr=False)
    secret: str = field(repr=False)
    timeout_s: float

    def send(self, notice: Notice) -> str:
        body = json.dumps(
            {
                "id": notice.id,
                "kind": str(notice.kind),
                "at": iso(notice.at),
                "title": notice.title,
                "text": notice.text,
                "data": notice.data,
            },
            ensure_ascii=False,
        ).encode()
        headers = {NOTICE_ID: notice.id}
        if self.secret:
            digest = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
            headers[SIGNATURE] = f"sha256={digest}"
        post(self.address, body, self.timeout_s, headers)
        return ""
