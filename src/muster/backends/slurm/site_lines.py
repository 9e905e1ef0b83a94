"""The lines of a cluster file at the beginning of every batch script: its modules, its variables and its prolog.

If one of them ends the script, its exit code says which, as nobody else would know.
"""

import shlex
from collections.abc import Mapping

from muster.backends.slurm.options import SlurmOptions

NO_PROLOG, NO_INTERFACE, NO_MODULE = TRIAL_ENDS = (71, 72, 78)
ENDED_BY: Mapping[int, str] = {
    NO_MODULE: "a module could not be loaded: see `modules` in the cluster file",
    NO_PROLOG: "a line of `prolog` in the cluster file ended the script",
}
"""What an exit code of a batch script says whose tasks have not begun."""

_HAS_MODULES = (
    "command -v module > /dev/null || for init in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh "
    "/etc/profile.d/z00_lmod.sh /usr/share/modules/init/sh /usr/share/lmod/lmod/init/sh; do "
    '[ -r "$init" ] && . "$init" && break; done'
)
"""`module` is a function of the shell, which a batch script does not inherit."""


def site_lines(options: SlurmOptions) -> list[str]:
    modules = [f"module load {shlex.quote(module)} || exit {NO_MODULE}" for module in options.modules]
    prolog = [f"trap 'exit {NO_PROLOG}' EXIT", *options.prolog, "trap - EXIT"] if options.prolog else []
    return [
        *([_HAS_MODULES, *modules] if modules else []),
        *(f"export {name}={shlex.quote(value)}" for name, value in options.env.items()),
        *([f"export MUSTER_BATCH_INTERFACE={shlex.quote(options.interface)}"] if options.interface else []),
        *prolog,
    ]


def needs_trial(options: SlurmOptions) -> bool:
    """Whether one of the lines can end a batch script."""
    return bool(options.modules or options.prolog or options.interface)


def trial_lines(options: SlurmOptions) -> str:
    """A script that ends as a batch script would on the node on which it runs."""
    interface = shlex.quote(f"/sys/class/net/{options.interface}")
    looked = [f"[ -e {interface} ] || exit {NO_INTERFACE}"] if options.interface else []
    return "\n".join([*site_lines(options), *looked, ""])


def trial_problem(options: SlurmOptions, code: int, said: str) -> str:
    """What is wrong with the key of the cluster file at which the script of `trial_lines` has ended."""
    words = "; ".join(line.strip() for line in said.splitlines() if line.strip() and not line.startswith("srun: "))
    told = f": {words}" if words else ""
    if code == NO_INTERFACE:
        return f"network.interface: a node has no interface {options.interface}"
    if code == NO_MODULE:
        return f"modules: {', '.join(options.modules)} cannot be loaded on a node{told}"
    return f"prolog: a line of it ends the batch script on a node{told}"
