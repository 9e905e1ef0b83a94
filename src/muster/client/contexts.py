"""Contexts: the known servers with their tokens, from the context file and the environment that overrides it.

The file contains secrets, so only its owner can read it, and it is replaced atomically.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from muster.client.errors import BAD_INPUT, MusterError

DEFAULT_SERVER = "http://127.0.0.1:7070"


@dataclass(frozen=True, slots=True)
class Context:
    server: str
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    fingerprint: str | None = None
    """The certificate that the server must have, whoever signed it. Without it, an authority of this machine must have
    signed it."""
    more: "tuple[Context, ...]" = ()
    """Further servers, which are used when those before them do not answer. Each has a token of its own."""

    @property
    def receivers(self) -> "tuple[Context, ...]":
        """All servers, in the order in which they are tried."""
        return (replace(self, more=()), *self.more)

    @property
    def addresses(self) -> str:
        return ",".join(one.server for one in self.receivers)


@dataclass(frozen=True, slots=True)
class Contexts:
    """All known servers. `current` names the default one."""

    current: str | None = None
    known: Mapping[str, Context] = field(default_factory=dict)

    def with_context(self, name: str, context: Context) -> "Contexts":
        return Contexts(current=name, known={**self.known, name: context})

    def remembering(self, name: str, context: Context) -> "Contexts":
        """Adds a context, or replaces it, and leaves the current one as it is."""
        return Contexts(current=self.current, known={**self.known, name: context})

    def without(self, name: str) -> "Contexts":
        left = {key: value for key, value in self.known.items() if key != name}
        return Contexts(current=self.current if self.current in left else next(iter(left), None), known=left)

    def using(self, name: str) -> "Contexts":
        if name not in self.known:
            raise _unknown(name, self.known)
        return replace(self, current=name)


def home() -> Path:
    """The home folder: `$MUSTER_HOME`, or else `~/.muster`."""
    named = os.environ.get("MUSTER_HOME")
    return Path(named).expanduser() if named else Path.home() / ".muster"


def context_file() -> Path:
    return home() / "context.json"


def load() -> Contexts:
    path = context_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Contexts()
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    try:
        raw = json.loads(text)
        known = {str(name): _context_of(item) for name, item in raw.get("contexts", {}).items()}
        return Contexts(current=raw.get("current"), known=known)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _broken(path, f"not a context file: {error}") from error


def save(contexts: Contexts) -> None:
    path = context_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    raw = {
        "current": contexts.current,
        "contexts": {
            name: {**_item(known), **({"more": [_item(one) for one in known.more]} if known.more else {})}
            for name, known in contexts.known.items()
        },
    }
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(raw, out, indent=2)
        out.write("\n")
    beside.replace(path)


def resolve(server: str | None = None, token: str | None = None, context: str | None = None) -> Context:
    """Chooses the servers and their tokens: the arguments, then MUSTER_SERVER and MUSTER_TOKEN, then the context file,
    then the server on this machine. Several servers are separated by commas, and so are their tokens; one token that is
    given so is for all of them.

    A token from the file is sent only to its own server, never to one that was named in another way.
    """
    known = load() if (server is None or token is None) else Contexts()
    if context is not None and context not in known.known:
        raise _unknown(context, known.known)
    environment = Context("", None) if context else Context(os.environ.get("MUSTER_SERVER", ""), _environment_token())
    chosen = known.known.get(context or known.current or "")
    addresses = split_addresses(server or environment.server or (chosen.addresses if chosen else DEFAULT_SERVER))
    tokens = _each(token or environment.token, len(addresses), "tokens")
    pins = _each(os.environ.get("MUSTER_FINGERPRINT"), len(addresses), "fingerprints")
    first, *more = (
        _resolved(address, given, pin, _at(address, known, chosen))
        for address, given, pin in zip(addresses, tokens, pins, strict=True)
    )
    return replace(first, more=tuple(more))


def split_addresses(given: str) -> list[str]:
    """The addresses in a list, each once."""
    found = [part.strip().rstrip("/") for part in given.split(",")]
    return list(dict.fromkeys(part for part in found if part)) or [DEFAULT_SERVER]


def _resolved(address: str, token: str | None, pin: str | None, named: Context | None) -> Context:
    return Context(
        server=address,
        token=token or (named.token if named else None),
        user=named.user if named else None,
        fingerprint=pin or (named.fingerprint if named else None),
    )


def _each(given: str | None, count: int, what: str) -> list[str | None]:
    if not given:
        return [None] * count
    parts = [part.strip() for part in given.split(",")]
    if len(parts) == 1:
        return [parts[0]] * count
    if len(parts) != count:
        raise MusterError(
            f"there are {len(parts)} {what} for {count} servers", code=BAD_INPUT, hint="give one for each"
        )
    return [part or None for part in parts]


def _context_of(item: Mapping[str, Any]) -> Context:
    more = tuple(_context_of(one) for one in item.get("more") or ())
    return Context(str(item["server"]), item.get("token"), item.get("user"), item.get("fingerprint"), more)


def _item(context: Context) -> dict[str, Any]:
    pin = {"fingerprint": context.fingerprint} if context.fingerprint else {}
    return {"server": context.server, "token": context.token, "user": context.user, **pin}


def _environment_token() -> str | None:
    return os.environ.get("MUSTER_TOKEN") or None


def _at(address: str, contexts: Contexts, preferred: Context | None) -> Context | None:
    candidates = list(preferred.receivers) if preferred else []
    candidates.extend(one for known in contexts.known.values() for one in known.receivers)
    return next((known for known in candidates if known.server.rstrip("/") == address), None)


def _unknown(name: str, known: Mapping[str, Context]) -> MusterError:
    names = ", ".join(sorted(known)) or "none yet; `muster login` creates one"
    return MusterError(f"there is no context {name!r}", code=BAD_INPUT, hint=f"known: {names}")


def _broken(path: Path, why: str) -> MusterError:
    return MusterError(
        f"cannot read {path}: {why}", code=BAD_INPUT, hint="fix or remove the file, then run `muster login`"
    )
