"""What sbatch and sudo print when they take no job, as one sentence that says it once."""

from __future__ import annotations

import re

from muster.agent.batch.programs import FULL, REJECTED, Finished, failure
from muster.agent.errors import AgentError

REFUSED = "Slurm refused the job"
_FULL = re.compile(r"\b(?:Assoc|QOS)(?:Grp|Max)SubmitJob\w*Limit\b")
"""Slurm says that a user, an account or a QOS has as many jobs there as it may, whether they run or wait."""
_BEGINNING = re.compile(r"^(?:sbatch: )?(?:(?:error|fatal): )?(?:Batch job submission failed: |allocation failure: )?")
_SAYS_NOTHING = re.compile(r"^(?:Try \"sbatch --help\"|sbatch: Warning: )|^\s*$")
_NO_ACCOUNT = re.compile(r"^sudo: unknown user:? ", re.MULTILINE)
_NOT_ALLOWED = re.compile(
    r"^sudo: (?:a password is required|sorry, )|is not allowed to (?:execute|run sudo)", re.MULTILINE
)


def refusal(finished: Finished, user: str = "") -> AgentError:
    """Why there is no job after sbatch has failed. It ran as `user` by sudo, if there is one."""
    if user and _NO_ACCOUNT.search(finished.err):
        return AgentError(REJECTED, "There is no Unix account {} on the login node".format(user))
    if user and _NOT_ALLOWED.search(finished.err):
        words = "sudo on the login node does not let Muster's account submit jobs as {}: {}"
        return AgentError(REJECTED, words.format(user, " ".join(finished.err.split())))
    full = _FULL.search(finished.err)
    if full is not None:
        words = "Slurm takes no more jobs now: as many as its limits allow run or wait there ({})"
        return AgentError(FULL, words.format(full.group()))
    return failure(finished._replace(err=plain_words(finished.err)), REFUSED)


def plain_words(err: str) -> str:
    """The words without the names of the program and of the step that failed, which each line repeats."""
    lines = [_BEGINNING.sub("", line.strip()) for line in err.splitlines() if not _SAYS_NOTHING.match(line)]
    return "; ".join(dict.fromkeys(lines))
