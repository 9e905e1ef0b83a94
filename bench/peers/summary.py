"""A peer's figures as rows of their own, for when it is measured by itself, and the word on those that are missing."""

from bench.peers.figures import PeerFigures
from bench.table import Row, Unit

MEGABYTE = 1_000_000


def presence(peer: PeerFigures) -> list[Row]:
    """Whether it was there, which version, and what went wrong with it."""
    if peer.absent:
        return [Row("ABSENT", Unit.COUNT, peer=peer.name, note=peer.absent)]
    note = f"{peer.version}; {peer.method}; load {peer.load_before:.1f} before"
    failures = [Row("FAILED", Unit.COUNT, peer=peer.name, note=problem) for problem in peer.problems]
    return [Row("ready after", Unit.SECONDS, peer=peer.name, theirs=peer.up_s, note=note), *failures]


def everything(peer: PeerFigures) -> list[Row]:
    rows = [
        Row(f"submit to start, p{percent}", Unit.MILLISECONDS, peer=peer.name, theirs=1000 * seconds)
        for percent in (50, 90)
        if (seconds := peer.start_percentile(percent)) is not None
    ]
    if peer.jobs_per_s is not None:
        note = f"{peer.jobs} jobs"
        rows.append(Row("jobs per second", Unit.PER_SECOND, peer=peer.name, theirs=peer.jobs_per_s, note=note))
    if peer.footprint is not None:
        memory, note = peer.footprint.rss_bytes / MEGABYTE, f"{peer.footprint.processes} processes"
        rows.append(Row("idle memory", Unit.MEGABYTES, peer=peer.name, theirs=memory, note=note))
        rows.append(Row("idle CPU", Unit.PERCENT, peer=peer.name, theirs=peer.footprint.cpu_percent))
    for label, seconds in peer.commands_cpu_s.items():
        rows.append(Row(f"CPU of `{label}`", Unit.SECONDS, peer=peer.name, theirs=seconds))
    return rows
