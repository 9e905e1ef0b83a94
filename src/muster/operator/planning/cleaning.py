"""Which ends of a job lead to the deletion of its pods and services: `cleanPodPolicy`."""

from collections.abc import Mapping

from muster.operator.job.paddle_job import CleanPolicy
from muster.operator.job.phases import Phase

CLEANED: Mapping[CleanPolicy, tuple[Phase, ...]] = {
    CleanPolicy.ALWAYS: (Phase.COMPLETED, Phase.FAILED),
    CleanPolicy.NEVER: (),
    CleanPolicy.ON_FAILURE: (Phase.FAILED,),
    CleanPolicy.ON_COMPLETION: (Phase.COMPLETED,),
}
