"""The login of whoever deployed receivers: one context in the store that knows all of them, in the order of the file.

The servers write a context of their own, `local`, which names the one that happens to act.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from muster.bootstrap.first_run import LOCAL
from muster.bootstrap.listening import shown_host
from muster.receivers.addresses import Address
from muster.receivers.small_files import read_json, write_json
from muster.settings.receivers import DeployedReceiver

RECEIVERS = "receivers"


def write_login(store: Path, receivers: Sequence[DeployedReceiver]) -> None:
    """Those that offer all clusters come first. Raises OSError."""
    found = read_json(store / "context.json")
    known: dict[str, Any] = found.get("contexts") or {}
    if LOCAL not in known:
        return
    scheme = urlsplit(known[LOCAL]["server"]).scheme
    ordered = sorted(receivers, key=lambda one: one.offers is not None)
    first, *more = ({**known[LOCAL], "server": _url(scheme, one.parsed)} for one in ordered)
    contexts = {**known, RECEIVERS: {**first, "more": more}}
    is_chosen = found.get("current") not in (None, LOCAL)
    write_json(store / "context.json", {**found, "contexts": contexts, **({} if is_chosen else {"current": RECEIVERS})})


def _url(scheme: str, address: Address) -> str:
    return f"{scheme}://{shown_host(address.host)}:{address.port}"
