"""The address at which a job can be followed, as a task may set it. It becomes a link on a page, so it has to be one
that a browser opens and nothing else: `http` or `https`, without an account, and without characters that do not belong
there."""

import re

LONGEST = 2000
_ADDRESS = re.compile(r"https?://[^\s/?#@\\\"'<>`{}|^\x00-\x20\x7f]+([/?#][^\s\\\"'<>`{}|^\x00-\x20\x7f]*)?", re.ASCII)


def is_followable(url: str) -> bool:
    return len(url) <= LONGEST and url.isascii() and _ADDRESS.fullmatch(url) is not None


def tracking_url(address: str, job_id: str, told: str = "") -> str:
    """Where a job can be followed: what a task has told, or its page at the address of the server."""
    return told or f"{address}/jobs/{job_id}"
