"""Which options of sbatch a cluster file may not name, because Muster sets them or depends on what they would change.

sbatch takes the beginning of a long option for the whole, and its releases differ in which beginnings are unique. So
everything is refused that one of them may take for such an option.
"""

from collections.abc import Mapping

from muster.wire.dialects.slurm.options import OPTIONS

_OWN = "this option is Muster's own"
_PRINTS = "it changes what sbatch prints, which Muster reads"
_NO_JOB = "sbatch submits no job with it"
_ENVIRONMENT = "Muster decides about the environment of jobs; write variables as the key `env`"
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("job-name", "comment", "output", "error", "open-mode", "ntasks", "array", "requeue", "wrap"), _OWN
    ),
    **dict.fromkeys(("parsable", "quiet", "verbose", "wait"), _PRINTS),
    **dict.fromkeys(("test-only", "external", "help", "usage", "version", "autocomplete"), _NO_JOB),
    **dict.fromkeys(("export", "export-file"), _ENVIRONMENT),
    "clusters": "Muster would not find its jobs in another cluster; describe that one in a file of its own",
    "constraint": "write it as the key `constraint`: features that a job asks for would replace it here",
}


def option_problem(name: str) -> str:
    """Why this option, which is written without its dashes and its value, is refused. Empty: it is not."""
    if name in _REFUSED:
        return _REFUSED[name]
    if name in OPTIONS:
        return ""
    whole = next((one for one in _REFUSED if one.startswith(name)), None)
    return "" if whole is None else f"sbatch may take it for --{whole}: {_REFUSED[whole]}"
