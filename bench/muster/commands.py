"""CPU seconds of the command line, beside the peers'."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import command_cpu_seconds, percentile, with_compiled_modules
from bench.muster.case import Case, Figures
from bench.muster.seeding import seed_finished
from bench.muster.server import PROGRAM, MusterServer
from bench.peers.figures import Measure
from bench.scale import Scale
from bench.table import Row, Unit, at_most

HELP = Row("CPU of `muster --help`", Unit.SECONDS, bar=at_most(0.1))
LIST = Row("CPU of `muster get jobs`", Unit.SECONDS, bar=at_most(0.3))
SUBMIT = Row("CPU of `muster submit`", Unit.SECONDS, bar=at_most(0.3))
PEERS = ("slurm", "torchx-cli", "ray")


def run(scale: Scale, figures: Figures) -> Sequence[Row]:
    with MusterServer() as server, tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
        seed_finished(server, scale.stored)
        env = with_compiled_modules(server.environment(), Path(name) / "compiled")
        program, job = str(PROGRAM), Path(name) / "job.yaml"
        job.write_text(json.dumps({"command": ["true"], "hold": True}))
        command_cpu_seconds([program, "submit", str(job), "--name", "first"], env, 1)  # compiles the modules
        help_s = command_cpu_seconds([program, "--help"], env, scale.command_repeats)
        list_s = command_cpu_seconds([program, "get", "jobs"], env, scale.command_repeats)
        submits = [[program, "submit", str(job), "--name", f"held-{n}"] for n in range(scale.command_repeats)]
        submit_s = percentile([command_cpu_seconds(words, env, 1) for words in submits], 50)
    return [
        Row(HELP.what, HELP.unit, help_s, bar=HELP.bar),
        Row(LIST.what, LIST.unit, list_s, bar=LIST.bar, note=f"{scale.stored:,} jobs stored"),
        Row(SUBMIT.what, SUBMIT.unit, submit_s, bar=SUBMIT.bar, note="a job that is held"),
        *_peer_rows(figures, help_s, list_s),
    ]


def _peer_rows(figures: Figures, help_s: float | None, list_s: float | None) -> list[Row]:
    return [
        Row(
            f"CPU of `{label}`",
            Unit.SECONDS,
            help_s if label.endswith("--help") else list_s,
            figures[name].name,
            seconds,
            note="muster: the like command",
        )
        for name in PEERS
        if name in figures
        for label, seconds in figures[name].commands_cpu_s.items()
    ]


CASE = Case(
    name="commands",
    summary="CPU of the command line with 10,000 jobs stored",
    run=run,
    bars=lambda figures: [HELP, LIST, SUBMIT, *_peer_rows(figures, None, None)],
    peers={name: frozenset({Measure.COMMANDS}) for name in PEERS},
)
