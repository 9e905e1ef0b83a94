"""What is posted is not sent on elsewhere."""

import urllib.request
from typing import Any


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without its content, which succeeds and delivers nothing. Without this, it
    is an HTTPError with the status of the redirect."""

    def redirect_request(self, *_: Any) -> None:
        return None
