"""A batch script of Slurm as a Muster spec.

One task for each node: the first one runs the script, once, as Slurm does, and `srun` in it starts the tasks of a step.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from muster.wire.dialects.job_names import put_name
from muster.wire.dialects.slurm import values
from muster.wire.dialects.slurm.directives import Directives, read_directives
from muster.wire.dialects.slurm.launcher import ARGUMENTS, KEY, STEP_PROGRAM, Launch, collected, launcher
from muster.wire.dialects.slurm.layout import Layout, LayoutReader
from muster.wire.dialects.slurm.shell_text import ShellText, is_for_shell, positional, shell_text
from muster.wire.dialects.slurm.values import NotUnderstood
from muster.wire.dialects.slurm.variables import variables
from muster.wire.dialects.translation import Translation, Translator
from muster.wire.documents import Document, Path
from muster.wire.spec_schema import VARIABLE_PATTERN

STATES = {
    "Queued": "PENDING",
    "Held": "PENDING",
    "Starting": "CONFIGURING",
    "Running": "RUNNING",
    "Stopping": "COMPLETING",
    "Succeeded": "COMPLETED",
    "Failed": "FAILED",
    "Cancelled": "CANCELLED",
}
"""What Slurm calls the states of a job."""

_SCANNED = 500
"""How many characters of each line are searched for commands: some patterns take quadratic time."""
_KILL_WAIT_S = 30
"""The time between the two signals that end a job, as Slurm has it by default."""
_STARTS_STEPS = re.compile(r"(?m)^[^#\n]*\b(srun|scontrol)\b")
_STARTS_TASKS = re.compile(r"(?m)^[^#\n]*\b(srun)\b(?![^\n]*--mpi[= ]none)")
_USES_MPI = re.compile(
    r"(?mi)^[^#\n]*\b(module\s+(?:load|add)\b[^\n#]*\b(?:openmpi|mpich|impi|intel-?mpi|mvapich2?|cray-mpich)\b|mpi4py)"
)
_COMMAND = r"(?m)^(?:[^#\n]*[;&|({`])?[ \t]*(?:(?:if|then|do|else|while|!)[ \t]+)*"
"""The beginning of a command, as far as a pattern can tell."""
_NOT_HERE = re.compile(_COMMAND + r"(squeue|scancel|sacct|sinfo|sattach|sstat|sprio)\b")
_SUBMITS = re.compile(_COMMAND + r"(sbatch|salloc|sbcast)\b")
_OTHERS = re.compile(r"(?m)^#(?:[ \t]*(?=flux:))?(PBS|BSUB|COBALT|PJM|MSUB|OAR|flux:|\$)[ \t]+-")
_SYSTEMS = {
    "PBS": "PBS",
    "BSUB": "LSF",
    "COBALT": "Cobalt",
    "PJM": "PJM",
    "MSUB": "Moab",
    "OAR": "OAR",
    "flux:": "Flux",
    "$": "Grid Engine",
}
_STEP_OPTION = re.compile(r"(?:^|\s)--(container-[\w-]+|multi-prog|pty|het-group|bcast|mpi[= ](?!none)\w+)")
_STEP_HINTS = {
    "container": "--set runtime.image=NAME runs the whole script in an image; remove the option",
    "mpi": "start MPI programs with mpirun",
}
_SIGNAL = re.compile(r"(?:(R?B?R?):)?(?:SIG)?(\w+?)(?:@(\d{1,9}))?", re.IGNORECASE)
_SIGNALS = (
    *("HUP", "INT", "QUIT", "ABRT", "KILL", "ALRM", "TERM", "USR1", "USR2"),
    *("URG", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "XCPU"),
)
"""Those whose names Slurm knows."""
_AFTER = {"afterok": "succeeded", "afterany": "ended", "after": ""}
_FEATURE = re.compile(r"[\w.-]+(?:&[\w.-]+)*")


def translate(document: Document) -> Translation:
    return _Script(document.data).translation()


class _Script:
    def __init__(self, text: str) -> None:
        self._text = text
        self._scanned = _cut(text)
        read = shell_text(text) if is_for_shell(text) else None
        self._shell = ShellText(_cut(read.commands), _cut(read.expanded)) if read is not None else None
        self._directives: Directives = read_directives(text)
        self._code = self._scanned if self._shell is None else self._shell.commands
        lines: dict[Path, int] = {(): 1}
        lines |= {(f"--{name}",): one.line for name, one in self._directives.given.items()}
        for pattern in (_NOT_HERE, _SUBMITS, _STARTS_TASKS):
            for found in pattern.finditer(self._code):
                if (found[1],) not in lines:
                    lines[(found[1],)] = _line_at(self._code, found.start(1))
        self._into = Translator(Document(text, lines))

    def translation(self) -> Translation:
        self._shape()
        for mistake in self._directives.mistakes:
            self._into.refuse_line(mistake.line, mistake.word, mistake.message, mistake.hint)
        for line in self._directives.late:
            self._into.warn_line(line, "#SBATCH", "has no effect: it stands after the first command, as in Slurm")
        for line in self._directives.indented:
            self._into.warn_line(
                line, "#SBATCH", "has no effect: blanks come before it, which makes it a comment to Slurm"
            )
        self._say_what_is_idle()
        layout = self._layout()
        name, is_renamed = self._name()
        self._limits()
        self._where(layout)
        self._after()
        self._exports()
        self._array()
        self._arguments()
        self._commands(layout)
        self._run(layout, name, is_renamed)
        return self._into.translation()

    def _value(self, name: str) -> str | None:
        return self._directives.value(name)

    def _refuse(self, name: str, message: str, hint: str = "", settled_by: Path = ()) -> None:
        self._into.refuse((f"--{name}",), message, hint, settled_by)

    def _shape(self) -> None:
        if not self._text.startswith("#!"):
            self._into.refuse((), "the script has no interpreter", "Slurm wants a first line such as #!/bin/bash")
        if "\r\n" in self._text:
            self._into.refuse((), "the script has line breaks of DOS, which Slurm refuses", "dos2unix removes them")
        if not self._directives.given and (other := _OTHERS.search(self._scanned)):
            system = _SYSTEMS[other[1]]
            message = f"this is a script for {system}, and Muster reads the options of Slurm (#SBATCH)"
            self._into.refuse_line(_line_at(self._scanned, other.end()), "", message, f"write #SBATCH for #{other[1]}")
        if (line := self._directives.heterogeneous) is not None:
            hint = "write a Muster spec with a role for each part: `muster import` shows how the first one is written"
            message = "a heterogeneous job has parts of different shapes, which Muster does not translate"
            self._into.refuse_line(line, "hetjob", message, hint)

    def _say_what_is_idle(self) -> None:
        for name, given in self._directives.given.items():
            option = given.option
            if option.idle:
                self._into.warn((f"--{name}",), f"has no effect: {option.idle}")
            elif option.refused:
                self._refuse(name, option.refused, option.hint)
        if (begin := self._value("begin")) is not None and begin.strip().lower() != "now":
            self._refuse(
                "begin", f"Muster starts no job at a given time ({begin})", "--hold, and later `muster resume`"
            )
        if (clusters := self._value("clusters")) is not None:
            self._into.warn(("--clusters",), f"{clusters!r} has no effect: --cluster NAME chooses one of Muster")
        if self._value("switches") is not None:
            self._into.warn(("--switches",), "has no effect: --set where.together=switch places the job under one")

    def _layout(self) -> Layout:
        reader = LayoutReader(self._directives)
        layout = reader.read()
        for name, message, hint, settled_by in reader.refusals:
            self._refuse(name, message, hint, settled_by)
        for name, message in reader.warnings:
            self._into.warn((f"--{name}",), message)
        counted = ("cpus-per-task", "ntasks", "ntasks-per-node", "ntasks-per-gpu", "nodes")
        source: Path = next(((f"--{name}",) for name in counted if name in self._directives.given), ())
        hint = "without --nodes all tasks are on one node; #SBATCH --nodes=N shares them" if layout.tasks > 1 else ""
        self._into.put(("resources", "cpu"), layout.cpus_per_node, source, hint)
        if layout.memory_bytes:
            memory = next(name for name in ("mem", "mem-per-cpu", "mem-per-gpu") if name in self._directives.given)
            self._into.put(("resources", "memory"), _mebibytes(layout.memory_bytes), (f"--{memory}",))
        if layout.gpus_per_node:
            gpus = ("gpus-per-node", "gres", "gpus-per-task", "gpus", "ntasks-per-gpu")
            asked: Path = (f"--{next(name for name in gpus if name in self._directives.given)}",)
            self._into.put(("resources", "gpu"), layout.gpus_per_node, asked)
            if layout.gpu_type:
                hint = "--set resources.gpuType=null takes any GPU"
                self._into.put(("resources", "gpuType"), layout.gpu_type, asked, hint)
        if layout.nodes > 1:
            self._into.put(("replicas",), layout.nodes, ("--nodes",))
            self._into.put(("where", "spread"), "apart", ("--nodes",), "--set where.spread=pack takes one machine")
            self._into.put(("ports",), 1, ("--nodes",))
            self._into.put(("secrets",), [{"name": KEY, "file": KEY}], ("--nodes",), _KEY_HINT)
        exclusive = self._value("exclusive")
        is_counted = bool(layout.gpus_per_node) or any(name in self._directives.given for name in counted[:-1])
        if exclusive is not None and (is_counted or exclusive.lower() in ("user", "mcs")):
            self._into.warn(("--exclusive",), "has no effect: the rest of a node is for others")
        elif exclusive is not None:
            hint = "say how many CPUs the job uses on a node: --set resources.cpu=N"
            self._refuse("exclusive", "Muster does not give a job whole nodes", hint, ("resources", "cpu"))
        return layout

    def _name(self) -> tuple[str, bool]:
        given = self._value("job-name")
        if given is None:
            return "", False
        return given, put_name(self._into, given, ("--job-name",))

    def _limits(self) -> None:
        if (text := self._value("time")) is not None:
            try:
                limit = values.seconds(text)
            except NotUnderstood as error:
                self._refuse("time", f"is {text!r}", str(error), ("timeLimit",))
            else:
                if limit is not None:
                    self._into.put(("timeLimit",), f"{limit}s", ("--time",))
        self._into.put(("grace",), f"{_KILL_WAIT_S}s", ())
        if "hold" in self._directives.given:
            self._into.put(("hold",), True, ("--hold",))
        if (partition := self._value("partition")) is not None:
            self._into.prefer_clusters([one for one in partition.split(",") if one], ("--partition",))

    def _where(self, layout: Layout) -> None:
        for name, target in (("nodelist", "nodes"), ("exclude", "notNodes")):
            text = self._value(name)
            if text is None:
                continue
            settled = ("where", target)
            if "/" in text:
                self._refuse(name, "names a file, which is not sent", "write the nodes", settled)
                continue
            try:
                hint = f"--set where.{target}=[] does without"
                self._into.put(settled, values.hosts(text), (f"--{name}",), hint)
            except NotUnderstood as error:
                self._refuse(name, f"is {text!r}", str(error), settled)
        if (wanted := self._value("constraint")) is None:
            return
        if _FEATURE.fullmatch(wanted):
            labels = dict.fromkeys(wanted.split("&"), "*")
            self._into.put(("where", "labels"), labels, ("--constraint",), "--set where.labels={} does without")
        else:
            hint = "--set 'where.labels={NAME: \"*\"}' chooses nodes with a label; {} does without"
            message = f"{wanted!r} is a choice between features, and Muster has labels that must all be there"
            self._refuse("constraint", message, hint, ("where", "labels"))

    def _after(self) -> None:
        text = self._value("dependency")
        if text is None:
            return
        needed: list[dict[str, str]] = []
        hint = "--set 'after=[NAME]' waits for a job of Muster; [] does without"
        for item in re.split(r"[,?]", text):
            kind, *jobs = item.split(":")
            on = _AFTER.get(kind, "")
            if "?" in text or not on or not jobs:
                self._refuse("dependency", f"{item!r} cannot be translated", hint, ("after",))
                return
            needed += [{"job": job.partition("+")[0], "on": on} for job in jobs]
        self._into.put(("after",), needed, ("--dependency",), hint)

    def _exports(self) -> None:
        """The environment of the person who submits is not sent, so that only values that are written can be given."""
        text = self._value("export")
        if text is None:
            return
        items = [item.strip() for item in re.split(r",(?=\s*[A-Za-z_]\w*(?:=|,|$))", text) if item.strip()]
        for item in items:
            name, has_value, value = item.partition("=")
            if not has_value and name.upper() in ("ALL", "NONE", "NIL"):
                continue
            if not re.fullmatch(VARIABLE_PATTERN, name):
                self._refuse("export", f"{name!r} is not a variable")
            elif has_value:
                self._into.put(("env", name), value, ("--export",))
            else:
                hint = f"--set env.{name}=VALUE"
                message = f"{name} is taken from your shell there, which is not sent here"
                self._refuse("export", message, hint, ("env", name))

    def _array(self) -> None:
        if (text := self._value("array")) is not None:
            message = f"the elements of an array are jobs of their own here ({text})"
            hint = "`muster submit` makes them; --set env.SLURM_ARRAY_TASK_ID=N --name NAME-N submits one of them"
            self._refuse("array", message, hint, ("env", "SLURM_ARRAY_TASK_ID"))

    def _arguments(self) -> None:
        """A script that was submitted with arguments there must not run without them here."""
        place = positional(self._shell) if self._shell is not None else None
        if place is not None and self._shell is not None:
            line = _line_at(self._shell.expanded, place)
            message = "the script reads its arguments, and none are given"
            hint = "muster submit FILE -- ARGUMENT...; with nothing after -- it runs without"
            self._into.refuse_line(line, "$1", message, hint, ("env", ARGUMENTS))

    def _commands(self, layout: Layout) -> None:
        """What the script calls, as far as it would not do here what it does there."""
        for word in dict.fromkeys(found[1] for found in _NOT_HERE.finditer(self._code)):
            self._into.warn((word,), "is a command of Slurm that tasks do not have, so the line fails")
        for word in dict.fromkeys(found[1] for found in _SUBMITS.finditer(self._code)):
            hint = "submit the other job with `after`, and remove the line"
            self._into.refuse((word,), "is a command of Slurm that tasks do not have", hint)
        for line, option in _step_options(self._code):
            hint = _STEP_HINTS.get(re.split(r"[-= ]", option)[0], "")
            self._into.refuse_line(line, f"srun --{option}", "Muster's srun does not do this", hint)
        if layout.tasks > 1 and _STARTS_TASKS.search(self._code) and _USES_MPI.search(self._scanned):
            message = "srun starts MPI programs there, which Muster's srun cannot connect to each other"
            self._into.refuse(("srun",), message, "start them with mpirun, or write srun --mpi=none if they use no MPI")

    def _run(self, layout: Layout, name: str, is_renamed: bool) -> None:
        uses = bool(_STARTS_STEPS.search(self._scanned))
        chdir = self._value("chdir") or self._value("workdir") or ""
        files = {one: path for one in ("output", "error", "input") if (path := self._value(one)) is not None}
        kept = {one: path for one, path in files.items() if self._is_kept(one, path)}
        shell = variables(self._directives, layout, name, is_renamed)
        if layout.nodes > 1:
            shell["SLURM_MUSTER_KEY"] = KEY
        launch = Launch(layout.nodes, shell, uses, kept, self._appends(), chdir, self._signal())
        program = [STEP_PROGRAM] if uses or layout.nodes > 1 else []
        self._into.put(("command",), ["/bin/sh", "-c", launcher(launch), "sbatch", self._text, *program], ())
        self._into.put(("framework",), "plain", ())
        places = [PurePosixPath(chdir, collected(path)) for one, path in kept.items() if one != "input"]
        inside = list(dict.fromkeys(str(path) for path in places if not path.is_absolute() and ".." not in path.parts))
        if inside:
            self._into.put(("outputs",), inside, ("--output",))

    def _is_kept(self, option: str, path: str) -> bool:
        if path in ("/dev/null", "none"):
            if option != "input":
                self._into.warn((f"--{option}",), "has no effect: the output is in the log of the task")
            return False
        if option != "input" and path.startswith("/"):
            message = f"{path} is written on the node, if it can be; `muster logs` shows the same"
            self._into.warn((f"--{option}",), message)
        return True

    def _appends(self) -> bool:
        """sbatch looks at the first letter alone."""
        mode = self._value("open-mode")
        if mode is not None and mode[:1].lower() not in ("a", "t"):
            self._refuse("open-mode", f"is {mode!r}", "expected append or truncate")
        return mode is not None and mode[:1].lower() == "a"

    def _signal(self) -> tuple[str, bool, int] | None:
        text = self._value("signal")
        if text is None:
            return None
        found = _SIGNAL.fullmatch(text)
        if found is None or not (found[2].upper() in _SIGNALS or found[2].isdigit()):
            self._refuse("signal", f"is {text!r}", "expected a signal such as B:USR1@300")
            return None
        before_s = int(found[3] or 60)
        try:
            limit = values.seconds(self._value("time") or "0")
        except NotUnderstood:
            return None
        if limit is None:
            self._into.warn(("--signal",), "has no effect without --time")
            return None
        return found[2].upper(), "B" in (found[1] or "").upper(), max(1, limit - before_s)


_KEY_HINT = (
    f"the nodes of the job prove to each other whose they are with it: openssl rand -hex 32 | muster secret set {KEY}"
)


def _mebibytes(count: int) -> str:
    return f"{-(-count // (1 << 20))}Mi"


def _step_options(script: str) -> Iterator[tuple[int, str]]:
    """The options of srun that it does not have here, each with its line."""
    is_step = False
    for number, line in enumerate(script.splitlines(), start=1):
        code = line.partition("#")[0]
        start = re.search(r"\bsrun\b", code)
        if not is_step and start is None:
            continue
        rest = code if is_step or start is None else code[start.end() :]
        yield from ((number, found[1]) for found in _STEP_OPTION.finditer(rest))
        is_step = line.endswith("\\")


def _cut(text: str) -> str:
    return "\n".join(line[:_SCANNED] for line in text.split("\n"))


def _line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
