"""Mail addresses: the plain form, which every mail server takes and which cannot add anything to a header."""

import re

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&*+/=?^_{|}~.-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?")
ACCEPTED = "a mail address such as li@example.org"


def is_mail_address(text: str) -> bool:
    name = text.partition("@")[0]
    return _ADDRESS.fullmatch(text) is not None and ".." not in text and not name.startswith(".") and name[-1:] != "."
