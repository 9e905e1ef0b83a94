"""The route that submits many jobs at once, all or none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse

from muster.api.jobs import JobPage
from muster.domain.errors import Invalid, Problem
from muster.engine.requests import commands
from muster.engine.requests.accounts import Principal
from muster.engine.requests.admission import admit_all, unknown_names
from muster.engine.requests.job_sets import SetRefused, problems_of, repeated_names
from muster.server.access import Action, require
from muster.server.job_reading import names_used, read_body, with_wished_cluster
from muster.server.request_body import off_the_loop
from muster.server.request_keys import RepeatKey, request_key
from muster.server.services import Services, authenticated, services
from muster.server.submission_warnings import with_warnings
from muster.wire import requests
from muster.wire.dialects.detecting import Dialect
from muster.wire.documents import Document, refuse_too_much
from muster.wire.response_models import response_model
from muster.wire.spec_problems import MAX_PROBLEMS
from muster.wire.specs import Reading, reading_of
from muster.wire.unreadable_spec import UnreadableSpec
from muster.wire.views import job_view as plain_job_view

router = APIRouter(tags=["jobs"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
_MADE: dict[int | str, dict[str, Any]] = {
    200: {
        "model": response_model(JobPage),
        "description": "The jobs of an earlier call with this Idempotency-Key; or, of a dry run, as they would be.",
    }
}


@router.post(
    "/jobs:bulk",
    status_code=201,
    response_model=response_model(JobPage),
    responses=_MADE,
    summary="Submit many jobs, all or none",
)
async def submit_bulk(
    body: requests.BulkIn,
    me: Me,
    parts: Parts,
    dry_run: Annotated[bool, Query(alias="dryRun")] = False,
    idempotency_key: RepeatKey = None,
) -> Response:
    """The jobs may name each other in `after`, in any order. If one is wrong, none is submitted, and the problems of
    all of them are answered, each under the place of its job. A repeated call with the same Idempotency-Key answers the
    jobs of the first one."""
    require(me, Action.JOB_SUBMIT)
    if bool(body.specs) == bool(body.jobs):
        raise Invalid("give either `specs` or `jobs`")
    key = request_key(me, idempotency_key, body.specs or [job.model_dump() for job in body.jobs])
    found = await off_the_loop(parts.parsing, _read_all, body, parts.dialects)
    readings = {place: await with_wished_cluster(one, parts.context, me.name) for place, one in found.readings.items()}
    found = replace(found, readings=readings)
    repeated = repeated_names(found.names, found.key)
    if found.refusals or repeated:
        await _refuse_all(found, repeated, me.name, parts)
    try:
        if dry_run:
            planned = await admit_all(parts.context, found.specs, me.name, carried=found.secrets)
            plan = JSONResponse(JobPage(items=[plain_job_view(job) for job in planned], nextCursor=None))
            return with_warnings(plan, list(_warnings(found)))
        jobs, are_new = await commands.submit_all(parts.context, found.specs, me.name, key, carried=found.secrets)
    except SetRefused as refused:
        raise _told(found, refused.refusals) from None
    items = [parts.job_view(me, job) for job in jobs]
    answer = JSONResponse(JobPage(items=items, nextCursor=None), 201 if are_new else 200)
    return with_warnings(answer, list(_warnings(found)))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of each job, by its place. `key` is how the request calls the list."""

    key: str
    count: int
    readings: Mapping[int, Reading]
    refusals: Mapping[int, Invalid]

    @property
    def specs(self) -> list[Any]:
        return [reading.spec for reading in self.readings.values()]

    @property
    def secrets(self) -> list[Mapping[str, str]]:
        """The secrets that came with each job that could be read."""
        return [reading.secrets for reading in self.readings.values()]

    @property
    def names(self) -> dict[int, str]:
        read = {place: reading.spec.name for place, reading in self.readings.items()}
        unread = {place: one.name for place, one in self.refusals.items() if isinstance(one, UnreadableSpec)}
        return read | unread


def _read_all(body: requests.BulkIn, dialects: Sequence[Dialect]) -> _Found:
    readings: dict[int, Reading] = {}
    refusals: dict[int, Invalid] = {}
    given: Sequence[dict[str, Any] | requests.SubmitIn] = body.specs or body.jobs
    for place, data in enumerate(given):
        try:
            readings[place] = _read(data, dialects)
        except Invalid as error:
            refusals[place] = error
    return _Found("specs" if body.specs else "jobs", len(readings) + len(refusals), readings, refusals)


def _read(data: dict[str, Any] | requests.SubmitIn, dialects: Sequence[Dialect]) -> Reading:
    if isinstance(data, requests.SubmitIn):
        refuse_too_much(data.spec)
        return read_body(data, dialects)
    refuse_too_much(data)
    return reading_of(Document(data), dialects=dialects)


async def _refuse_all(found: _Found, repeated: Mapping[int, Problem], owner: str, parts: Services) -> None:
    """Raises Invalid. The jobs that could be read are checked too, so that everything that is wrong is told at once."""
    refusals = dict(found.refusals)
    names = found.names
    unread = []
    for place, error in found.refusals.items():
        if isinstance(error, UnreadableSpec):
            unread.append(error.name)
            siblings = {name for other, name in names.items() if other != place}
            more = await unknown_names(parts.context, names_used(error), owner, siblings=siblings)
            refusals[place] = error.with_more([repeated[place], *more] if place in repeated else more)
    places = list(found.readings)
    try:
        if places:
            await admit_all(parts.context, found.specs, owner, unread=unread, carried=found.secrets)
    except SetRefused as refused:
        refusals |= {places[place]: error for place, error in refused.refusals.items()}
    for place in repeated.keys() & found.readings.keys():
        others = problems_of(refusals[place]) if place in refusals else ()
        refusals[place] = Invalid("its name is not its own", problems=(repeated[place], *others))
    raise _told(found, refusals)


def _told(found: _Found, refusals: Mapping[int, Invalid]) -> Invalid:
    problems: list[Problem] = []
    for place in sorted(refusals):
        reading = found.readings.get(place)
        placed = [reading.placed(one) if reading else one for one in problems_of(refusals[place])]
        problems += _under(f"{found.key}.{place}.", placed)
    count = len(refusals)
    message = f"{count} of {found.count} {found.key} {'is' if count == 1 else 'are'} wrong, and none was submitted"
    hint = f"the first {MAX_PROBLEMS} problems are shown" if len(problems) > MAX_PROBLEMS else ""
    refusal = Invalid(message, hint=hint, problems=tuple(problems[:MAX_PROBLEMS]))
    refusal.warnings = tuple(_warnings(found))
    return refusal


def _warnings(found: _Found) -> Iterator[str]:
    """The warnings of all jobs, those that could not be read among them, each with the name of its job. What is to be
    said of several jobs, such as the elements of an array, is said once."""
    told = {place: one.warnings for place, one in found.readings.items()}
    told |= {place: one.warnings for place, one in found.refusals.items()}
    names: dict[str, list[str]] = {}
    for place in sorted(told):
        for text in told[place]:
            names.setdefault(text, []).append(found.names.get(place) or f"{found.key}.{place}")
    for text, (first, *others) in names.items():
        yield f"{first} and {len(others)} more: {text}" if others else f"{first}: {text}"


def _under(prefix: str, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(problem, path=f"{prefix}{problem.path}".rstrip(".")) for problem in problems]
