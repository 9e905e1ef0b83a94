"""Whether the accounting of Slurm knows the accounts and the QoS of a cluster file.

Unless it enforces them, Slurm takes any name."""

from collections.abc import Iterator, Mapping

from muster.backends.slurm.options import SlurmOptions

NAME_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "account": ("sacctmgr", "--noheader", "--parsable2", "show", "account", "format=account"),
    "qos": ("sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name"),
}
"""What prints the names that a key of the cluster file may have."""


def unknown_names(options: SlurmOptions, key: str, printed: str) -> Iterator[str]:
    """`printed` is what the command of the key has printed. Nothing is known if that is nothing."""
    known = {line.strip().lower() for line in printed.splitlines() if line.strip()}
    for cluster, settings in {"": options.submit, **options.virtual}.items():
        name = getattr(settings, key)
        if name and known and name.lower() not in known:
            place = f"virtualClusters.{cluster}.{key}" if cluster else key
            yield f"{place}: the accounting of Slurm does not know {name}"
