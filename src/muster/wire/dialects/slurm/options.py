"""The options of sbatch, with their short forms, and what each of them is to Muster."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Takes(Enum):
    """Whether an option has a value. One that may have a value has it after `=`, or not at all."""

    VALUE = "value"
    NOTHING = "nothing"
    PERHAPS = "perhaps"


@dataclass(frozen=True, slots=True)
class Option:
    """`idle` says why the option has no effect, and `refused` why the job would not be the same without it. An option
    with neither is translated."""

    name: str
    short: str = ""
    takes: Takes = Takes.VALUE
    idle: str = ""
    refused: str = ""
    hint: str = ""


_PLACES = "Muster places tasks by CPUs, memory and GPUs alone"
_NO_ACCOUNTS = "Muster counts for the owner and the virtual cluster"
_MAIL = "Muster sends no mail for a job"
_TOPOLOGY = "Muster does not choose sockets, cores and threads"
_BINDING = "Muster does not bind processes to single CPUs and devices"
_TALKATIVE = "it only changes what sbatch prints"
_ADMIN = "only the administrator of a Slurm cluster may use it"

_ALL = (
    Option("account", "A", idle=_NO_ACCOUNTS),
    Option("acctg-freq", idle=_NO_ACCOUNTS),
    Option("array", "a"),
    Option("batch", idle=_PLACES),
    Option("bb", refused="Muster has no burst buffers", hint="copy the data in the script"),
    Option("bbf", refused="Muster has no burst buffers", hint="copy the data in the script"),
    Option("begin", "b"),
    Option("chdir", "D"),
    Option("cluster-constraint", idle=_PLACES),
    Option("clusters", "M"),
    Option("comment", idle="the job keeps no comment"),
    Option("consolidate-segments", takes=Takes.NOTHING, idle=_PLACES),
    Option("constraint", "C"),
    Option("container", refused="Muster runs no OCI bundles", hint="--set runtime.image=NAME runs it in an image"),
    Option("container-id", refused="Muster runs no OCI bundles", hint="--set runtime.image=NAME runs it in an image"),
    Option("contiguous", takes=Takes.NOTHING, idle=_PLACES),
    Option("core-spec", "S", idle=_ADMIN),
    Option("cores-per-socket", idle=_TOPOLOGY),
    Option("cpu-freq", idle="Muster leaves the frequency of CPUs alone"),
    Option("cpus-per-gpu"),
    Option("cpus-per-task", "c"),
    Option("deadline", refused="Muster knows no latest end", hint="write --time, and submit it in time"),
    Option("delay-boot", idle=_PLACES),
    Option("dependency", "d"),
    Option("distribution", "m", idle="tasks are numbered node by node"),
    Option("error", "e"),
    Option("exclude", "x"),
    Option("exclusive", takes=Takes.PERHAPS),
    Option("export"),
    Option("export-file", refused="Muster reads no file of variables", hint="write --export=ALL,NAME=VALUE"),
    Option("external", takes=Takes.NOTHING, refused="nothing would run", hint="remove the line"),
    Option("extra", idle="the job keeps no comment"),
    Option("extra-node-info", "B", idle=_TOPOLOGY),
    Option("get-user-env", takes=Takes.PERHAPS, idle="the script gets the environment of a task"),
    Option("gid", idle=_ADMIN),
    Option("gpu-bind", idle=_BINDING),
    Option("gpu-freq", idle="Muster leaves the frequency of GPUs alone"),
    Option("gpus", "G"),
    Option("gpus-per-node"),
    Option("gpus-per-socket", refused="Muster does not know the sockets of a node", hint="write --gpus-per-node"),
    Option("gpus-per-task"),
    Option("gres"),
    Option("gres-flags", idle=_BINDING),
    Option("hint", idle=_TOPOLOGY),
    Option("hold", "H", takes=Takes.NOTHING),
    Option("ignore-pbs", takes=Takes.NOTHING),
    Option("input", "i"),
    Option("job-name", "J"),
    Option("kill-on-invalid-dep", idle="a job fails when a job that it needs has failed"),
    Option(
        "licenses", "L", refused="Muster does not count licences", hint="remove the line if the nodes have one each"
    ),
    Option("mail-type", idle=_MAIL),
    Option("mail-user", idle=_MAIL),
    Option("mcs-label", idle=_ADMIN),
    Option("mem"),
    Option("mem-bind", idle=_BINDING),
    Option("mem-per-cpu"),
    Option("mem-per-gpu"),
    Option("mincpus", idle=_PLACES),
    Option("network", idle=_PLACES),
    Option("nice", takes=Takes.PERHAPS, idle="Muster has a priority instead: --set priority=low"),
    Option("no-kill", "k", takes=Takes.PERHAPS, idle="a job whose node fails starts again as a whole"),
    Option("no-requeue", takes=Takes.NOTHING, idle="a job whose node fails starts again"),
    Option("nodefile", "F", refused="the file is not sent", hint="write --nodelist"),
    Option("nodelist", "w"),
    Option("nodes", "N"),
    Option("ntasks", "n"),
    Option("ntasks-per-core", idle=_TOPOLOGY),
    Option("ntasks-per-gpu"),
    Option("ntasks-per-node"),
    Option("ntasks-per-socket", idle=_TOPOLOGY),
    Option("oom-kill-step", takes=Takes.PERHAPS, idle="a job whose task runs out of memory fails"),
    Option("open-mode"),
    Option("output", "o"),
    Option("overcommit", "O", takes=Takes.NOTHING, idle="each task has its own CPUs"),
    Option("oversubscribe", "s", takes=Takes.PERHAPS, idle="Muster shares nodes anyway"),
    Option("parsable", takes=Takes.NOTHING, idle=_TALKATIVE),
    Option("partition", "p"),
    Option("power", idle=_ADMIN),
    Option("prefer", idle=_PLACES),
    Option("priority", idle="Muster has a priority of its own: --set priority=high"),
    Option("profile", idle="`muster usage` shows what a job used"),
    Option("propagate", takes=Takes.PERHAPS, idle="the limits are those of the node"),
    Option("qos", "q", idle=_NO_ACCOUNTS),
    Option("quiet", "Q", takes=Takes.NOTHING, idle=_TALKATIVE),
    Option("reboot", takes=Takes.NOTHING, idle="Muster does not restart nodes"),
    Option("requeue", takes=Takes.NOTHING),
    Option("reservation", idle="Muster has no reservations"),
    Option("resv-ports", takes=Takes.PERHAPS, idle="--set ports=2 reserves ports"),
    Option("segment", idle="--set where.together=switch places the job under one switch"),
    Option("signal"),
    Option("sockets-per-node", idle=_TOPOLOGY),
    Option("spread-job", takes=Takes.NOTHING, idle=_PLACES),
    Option("spread-segments", takes=Takes.NOTHING, idle=_PLACES),
    Option("stepmgr", takes=Takes.NOTHING, idle="the steps of a job are managed in its own tasks anyway"),
    Option("switches"),
    Option("test-only", takes=Takes.NOTHING, refused="nothing would run", hint="--dry-run does the same in Muster"),
    Option("thread-spec", idle=_ADMIN),
    Option("threads-per-core", idle=_TOPOLOGY),
    Option("time", "t"),
    Option("time-min", idle="the limit stays as it is"),
    Option("tmp", idle="Muster does not count the disks of nodes"),
    Option("tres-bind", idle=_BINDING),
    Option("tres-per-job", refused="it is not translated", hint="write --gpus, --mem and --cpus-per-task"),
    Option("tres-per-node", refused="it is not translated", hint="write --gres, --mem and --cpus-per-task"),
    Option("tres-per-task", refused="it is not translated", hint="write --gpus-per-task and --cpus-per-task"),
    Option("uid", idle=_ADMIN),
    Option("use-min-nodes", takes=Takes.NOTHING, idle=_PLACES),
    Option("verbose", "v", takes=Takes.NOTHING, idle=_TALKATIVE),
    Option("wait", "W", takes=Takes.NOTHING, idle="`muster submit --wait` waits"),
    Option("wait-all-nodes", idle="all tasks of a job start together"),
    Option("wckey", idle=_NO_ACCOUNTS),
    Option("workdir"),
    Option("wrap", refused="a script has its commands in itself", hint="remove the line"),
)
_ALIASES = {"tasks-per-node": "ntasks-per-node", "cluster": "clusters", "share": "oversubscribe"}
OPTIONS: Mapping[str, Option] = {option.name: option for option in _ALL}
SHORT: Mapping[str, Option] = {option.short: option for option in _ALL if option.short}


def long_option(word: str) -> list[Option]:
    """The option of this name, or all that begin with it: sbatch takes what is unique."""
    if word in OPTIONS:
        return [OPTIONS[word]]
    if word in _ALIASES:
        return [OPTIONS[_ALIASES[word]]]
    named = [option for option in _ALL if option.name.startswith(word)]
    return named or [OPTIONS[name] for alias, name in _ALIASES.items() if alias.startswith(word)]
