"""The other names of what `muster get` lists. Groups of commands know them too, to say where a list is found."""

ALIASES = {
    "job": "jobs",
    "worker": "workers",
    "tasks": "workers",
    "task": "workers",
    "requests": "request",
    "node": "nodes",
    "cluster": "clusters",
    "quotas": "quota",
    "secret": "secrets",
    "user": "users",
    "token": "tokens",
}


def listed(noun: str) -> str | None:
    """What `muster get` calls these objects, or None if it does not list them."""
    return noun if noun in ALIASES.values() else ALIASES.get(noun)
