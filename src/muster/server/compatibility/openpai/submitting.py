"""Takes a job in OpenPAI's protocol. The dialect translates it; this keeps its text, its name and OpenPAI's errors."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import Request

from muster.domain.errors import Conflict, Invalid
from muster.domain.jobs import Job
from muster.domain.specs import OriginalFile
from muster.engine.requests import commands
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require
from muster.server.compatibility.openpai.errors import PaiError
from muster.server.compatibility.openpai.kept_files import kept_text
from muster.server.compatibility.openpai.names import refuse_used_name
from muster.server.job_reading import read_job
from muster.server.problems import words_of
from muster.server.request_body import LONG_BYTES, Submitted, off_the_loop
from muster.server.services import Services
from muster.server.submission_warnings import relating_problems_to
from muster.wire.documents import read_document
from muster.wire.requests import SubmitIn

DIALECT = "openpai"
_CLUSTERS = ("cluster", "defaults.virtualCluster", "virtualCluster")
"""The keys by which a job names its cluster."""
_STORAGES = ("extras.storages", "mounts")
"""The keys by which a job names its storages, in its file and in the spec that it becomes."""
_MARKS = ("protocolVersion", "jobName")
"""What a job of protocol 2 and one of protocol 1 must have, and a spec of Muster's own has not."""


async def submit_text(request: Request, parts: Services, me: Principal) -> tuple[Job, Sequence[str]]:
    """Submits the job in the body of the request, and returns it with the warnings about it."""
    require(me, Action.JOB_SUBMIT)
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError:
        raise PaiError(400, "InvalidProtocolError", "the job is not UTF-8 text") from None
    try:
        return await _submitted(text, parts, me)
    except Conflict as error:
        raise PaiError(409, "ConflictJobError", words_of(error)) from None
    except Invalid as error:
        if any(problem.path in _CLUSTERS for problem in error.problems):
            raise PaiError(403, "ForbiddenUserError", words_of(error)) from None
        if any(problem.path.startswith(_STORAGES) for problem in error.problems):
            raise PaiError(404, "NoStorageError", words_of(error)) from None
        raise PaiError(400, "InvalidProtocolError", words_of(error)) from None


async def _submitted(text: str, parts: Services, me: Principal) -> tuple[Job, Sequence[str]]:
    is_long = len(text) > LONG_BYTES
    await off_the_loop(parts.parsing, _require_openpai, text)
    reading = await read_job(Submitted(SubmitIn(source=text), is_long), parts, me.name)
    await refuse_used_name(parts, me.name, reading.spec.name)
    kept = await off_the_loop(parts.parsing, kept_text, text)
    spec = replace(reading.spec, original=OriginalFile(DIALECT, kept))
    with relating_problems_to(reading):
        job, _ = await commands.submit(parts.context, spec, me.name, carried=reading.secrets)
    return job, reading.warnings


def _require_openpai(text: str) -> None:
    data = read_document(text).data
    if not isinstance(data, dict) or not any(mark in data for mark in _MARKS):
        raise Invalid("this is not an OpenPAI job: it has no protocolVersion")
