"""`muster get`, the group of commands that list objects."""

import click

from muster.cli.lazy_group import Entry, LazyGroup
from muster.cli.listed_objects import ALIASES


def _entry(module: str, help_text: str) -> Entry:
    return Entry(f"muster.cli.commands.listing.{module}", help_text)


ENTRIES = {
    "jobs": _entry("jobs", "Jobs, newest first."),
    "workers": _entry("workers", "The workers (tasks) of a job."),
    "request": _entry("requests", "The jobs that a request made whose answer was lost."),
    "nodes": _entry("nodes", "Nodes, with their allocated resources."),
    "clusters": _entry("clusters", "Clusters and their backends."),
    "quota": _entry("quotas", "Quotas: limits, their usage, and the jobs that wait on them."),
    "secrets": _entry("secrets", "Your secrets, without values; for admins, everybody's."),
    "users": _entry("users", "Users (admins only)."),
    "tokens": _entry("tokens", "Your tokens; for admins, everybody's."),
}


@click.command(cls=LazyGroup, entries=ENTRIES, aliases=ALIASES)
def command() -> None:
    """List jobs, workers, nodes and other objects.

    \b
    Examples:
      muster get jobs --mine --state Running,Queued
      muster get workers mnist -o wide
      muster get nodes --watch
      muster get jobs --all -o json | jq -r '.items[].name'
    """
