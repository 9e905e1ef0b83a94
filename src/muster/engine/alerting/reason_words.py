"""Why a job failed or was stopped, in the language of whoever is told. In English the job says it itself."""

import re
from collections.abc import Mapping, Sequence

from muster.domain.job_reasons import stored_reason
from muster.domain.jobs import Job
from muster.engine.alerting.fault_words import FAULTS_ZH
from muster.engine.alerting.sentences import first_complete

STOPS_ZH: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"killed by (.+)"), r"被 \1 终止"),
    (
        re.compile(r"stopped early: its best of (\S+) at step (\d+) is worse than the median (\S+) of (\d+)"),
        r"提前停止：第 \2 步时的最佳值 \1 不及 \4 个成员的中位数 \3",
    ),
    (
        re.compile(r"stopped early: (\d+) of (\d+) were better than (\S+) at step (\d+), (\d+) stay"),
        r"提前停止：第 \4 步时 \2 个中有 \1 个优于 \3，只保留 \5 个",
    ),
)
"""Why jobs were stopped, of which only the sentence is kept."""
_FAULTS: Mapping[str, Mapping[str, Sequence[str]]] = {"zh": FAULTS_ZH}
_STOPS: Mapping[str, Sequence[tuple[re.Pattern[str], str]]] = {"zh": STOPS_ZH}


def reason_of(job: Job, language: str) -> str:
    """What nobody has translated is told in the words of the job."""
    reason = stored_reason(job)
    known = _FAULTS.get(language, {}).get(reason.code, ())
    if said := first_complete(known, {"message": reason.message, **reason.numbers}):
        return said
    for pattern, words in _STOPS.get(language, ()):
        if found := pattern.fullmatch(reason.message):
            return found.expand(words)
    return reason.message or "-"
