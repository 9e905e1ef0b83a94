"""`muster vc`, which shows virtual clusters."""

from typing import Any

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say, say_warning
from muster.cli.shared_options import complete_virtual_clusters, output_option
from muster.cli.tables.cluster_columns import amount_text, error_text, virtual_cluster_columns
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.client.cluster_views import VirtualClusterView


@click.group(cls=Group)
def command() -> None:
    """Show virtual clusters: a cluster, plus settings, plus a guaranteed share.

    A job selects one as `cluster`. Admins define them in files in `clusters.d`.

    \b
    Examples:
      muster vc list
      muster vc describe vision
      muster get quota
    """


@command.command("list")
@output_option()
def list_(output: str) -> None:
    """List the virtual clusters that you may use, with guaranteed, used, borrowed and lent resources.

    Admins also see problems: mistakes in files and what is in effect instead, guarantees that the nodes can no longer
    satisfy, and labels of nodes that do not exist.

    \b
    Examples:
      muster vc list
      muster vc list -o wide
    """
    found = connect().virtual_clusters()
    if output in ("json", "yaml"):
        print_document(found.raw, output)
    else:
        print_list(found.items, virtual_cluster_columns(), output)
    if not found.items:
        say("there are no virtual clusters; all users share everything")
    for problem in found.problems:
        say_warning(str(problem))


@command.command()
@click.argument("name", shell_complete=complete_virtual_clusters)
@output_option("table", "json", "yaml")
def describe(name: str, output: str) -> None:
    """Show everything about a virtual cluster.

    \b
    Examples:
      muster vc describe vision
      muster vc describe vision -o json
    """
    vc = connect().virtual_cluster(name)
    if output != "table":
        print_document(vc.raw, output)
        return
    print_pairs(_pairs(vc))


def _pairs(vc: VirtualClusterView) -> list[tuple[str, Any]]:
    raw = vc.raw
    defaults = raw.get("defaults") or {}
    return [
        ("Name", vc.name),
        ("Description", raw.get("description")),
        ("Cluster", vc.cluster),
        ("Guaranteed", amount_text(vc.guaranteed) or "nothing"),
        ("Max", amount_text(vc.max) or "no limit"),
        ("Borrows", "yes" if raw.get("borrow") else "no"),
        ("Used", amount_text(vc.used) or "nothing"),
        ("Borrowed", amount_text(vc.borrowed)),
        ("Lent", amount_text(vc.lent)),
        ("Running", str(vc.running)),
        ("Waiting", str(vc.waiting)),
        ("Policy", vc.policy),
        ("Prediction error", error_text(vc.prediction_error) or "not known yet"),
        ("Priorities", ", ".join(raw.get("priorities") or ())),
        ("May refuse preemption", "yes" if raw.get("mayRefusePreemption") else "no"),
        ("Limits", _known(raw.get("limits"))),
        ("Limits of each user", _known(raw.get("userLimits"))),
        ("Users", ", ".join(raw.get("users") or ())),
        ("Groups", ", ".join(raw.get("groups") or ())),
        ("Default env", _known(defaults.get("env"))),
        ("Default runtime", _known(defaults.get("runtime"))),
        ("Default mounts", ", ".join(_mount(mount) for mount in defaults.get("mounts") or ())),
        ("Default resources", _known(defaults.get("resources"))),
    ]


def _known(values: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in (values or {}).items() if value is not None)


def _mount(mount: Any) -> str:
    return f"{mount.get('source')} at {mount.get('target')}"
