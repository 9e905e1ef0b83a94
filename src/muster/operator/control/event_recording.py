"""Events on jobs, which `kubectl describe` shows. An event that cannot be written is only missing there."""

import structlog

from muster.domain.errors import MusterError
from muster.kubernetes.resources import PADDLE_JOBS
from muster.kubernetes.times import timestamp
from muster.lib.clock import Clock
from muster.operator.control.writer import Writer
from muster.operator.job.paddle_job import PaddleJob
from muster.operator.planning.plans import JobEvent

_log = structlog.get_logger("operator.events")
_COMPONENT = "paddlejob-controller"


class EventRecorder:
    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer, self._clock = writer, clock

    async def record(self, job: PaddleJob, event: JobEvent) -> None:
        _log.info("event", job=f"{job.namespace}/{job.name}", reason=event.reason, message=event.message)
        now = self._clock()
        body = {
            "metadata": {"name": f"{job.name}.{int(now * 1e6):x}", "namespace": job.namespace},
            "involvedObject": {
                "apiVersion": PADDLE_JOBS.api_version,
                "kind": PADDLE_JOBS.kind,
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
            },
            "type": "Warning" if event.is_warning else "Normal",
            "reason": event.reason,
            "message": event.message[:1024],
            "source": {"component": _COMPONENT},
            "reportingComponent": _COMPONENT,
            "firstTimestamp": timestamp(now),
            "lastTimestamp": timestamp(now),
            "count": 1,
        }
        try:
            await self._writer.event(body, job.namespace)
        except MusterError as error:
            _log.warning("event not written", job=f"{job.namespace}/{job.name}", error=str(error))
