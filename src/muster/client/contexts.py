"""Contexts: the known servers with their tokens, from the context file and the environment that overrides it.

The file contains secrets, so only its owner can read it, and it is replaced atomically.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

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
        known = {
            str(name): Context(
                server=str(item["server"]),
                token=item.get("token"),
                user=item.get("user"),
                fingerprint=item.get("fingerprint"),
            )
            for name, item in raw.get("contexts", {}).items()
        }
        return Contexts(current=raw.get("current"), known=known)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _broken(path, f"not a context file: {error}") from error


def save(contexts: Contexts) -> None:
    path = context_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    raw = {
        "current": contexts.current,
        "contexts": {
            name: {"server": known.server, "token": known.token, "user": known.user, **_pin(known)}
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
    """Chooses the server and token: the arguments, then MUSTER_SERVER and MUSTER_TOKEN, then the context file, then the
    server on this machine.

    A token from the file is sent only to its own server, never to one that was named in another way.
    """
    known = load() if (server is None or token is None) else Contexts()
    if context is not None and context not in known.known:
        raise _unknown(context, known.known)
    environment = Context("", None) if context else Context(os.environ.get("MUSTER_SERVER", ""), _environment_token())
    chosen = known.known.get(context or known.current or "")
    address = (server or environment.server or (chosen.server if chosen else DEFAULT_SERVER)).rstrip("/")
    named = _at(address, known, chosen)
    return Context(
        server=address,
        token=token or environment.token or (named.token if named else None),
        user=named.user if named else None,
        fingerprint=os.environ.get("MUSTER_FINGERPRINT") or (named.fingerprint if named else None),
    )


def _pin(context: Context) -> dict[str, str]:
    return {"fingerprint": context.fingerprint} if context.fingerprint else {}


def _environment_token() -> str | None:
    return os.environ.get("MUSTER_TOKEN") or None


def _at(address: str, contexts: Contexts, preferred: Context | None) -> Context | None:
    candidates = [preferred] if preferred else []
    candidates.extend(contexts.known.values())
    return next((known for known in candidates if known.server.rstrip("/") == address), None)


def _unknown(name: str, known: Mapping[str, Context]) -> MusterError:
    names = ", ".join(sorted(known)) or "none yet; `muster login` creates one"
    return MusterError(f"there is no context {name!r}", code=BAD_INPUT, hint=f"known: {names}")


def _broken(path: Path, why: str) -> MusterError:
    return MusterError(
        f"cannot read {path}: {why}", code=BAD_INPUT, hint="fix or remove the file, then run `muster login`"
    )
