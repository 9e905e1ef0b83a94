"""Routes for templates that users share."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import JSONResponse

from muster.api.templates import TemplateList, TemplateOut
from muster.domain.errors import Invalid, NotFound, Problem
from muster.domain.templates import JOB_FILE
from muster.engine.requests import templates
from muster.engine.requests.accounts import Principal
from muster.lib.nearest import nearest
from muster.server.request_body import off_the_loop
from muster.server.services import Services, authenticated, services
from muster.templates.catalogue import DESCRIPTIONS, template_files
from muster.wire.dialects.detecting import Dialect
from muster.wire.requests import TemplateIn
from muster.wire.response_models import response_model
from muster.wire.spec_schema import NAME_PATTERN
from muster.wire.specs import Reading, read_source, reading_of_any
from muster.wire.template_views import built_in_view, template_view

router = APIRouter(tags=["templates"])
Me = Annotated[Principal, Depends(authenticated)]
Parts = Annotated[Services, Depends(services)]
Name = Annotated[str, Path(pattern=NAME_PATTERN, description="At most 63 letters, digits, '.', '_' and '-'.")]
_PUBLISHED: dict[int | str, dict[str, Any]] = {201: {"description": "The new version."}}


@router.get("/templates", response_model=response_model(TemplateList), summary="List templates")
async def list_templates(
    me: Me,
    parts: Parts,
    built_in: Annotated[bool, Query(alias="builtIn", description="Answer also those that Muster itself has.")] = False,
) -> Response:
    """Lists the newest versions of the templates that you may use, without their files."""
    found = [template_view(template) for template in await templates.visible(parts.context, me.user)]
    own = await asyncio.to_thread(_all_built_in) if built_in else []
    return JSONResponse(TemplateList(items=[*found, *own]))


@router.get("/templates/{name}", response_model=response_model(TemplateOut), summary="One template, with its files")
async def get_template(
    name: Name,
    me: Me,
    parts: Parts,
    version: Annotated[int | None, Query(ge=1, le=1 << 30, description="The newest one if absent.")] = None,
    built_in: Annotated[
        bool, Query(alias="builtIn", description="The one of this name that Muster itself has.")
    ] = False,
) -> Response:
    if built_in:
        return JSONResponse(await asyncio.to_thread(_built_in, name))
    found = await templates.find(parts.context, me.user, name, version)
    return JSONResponse({**template_view(found), "files": dict(found.files)})


def _all_built_in() -> list[TemplateOut]:
    return [built_in_view(name) for name in DESCRIPTIONS]


def _built_in(name: str) -> TemplateOut:
    if name not in DESCRIPTIONS:
        guess = nearest(name, list(DESCRIPTIONS))
        hint = f"did you mean {guess}?" if guess else f"there are {', '.join(DESCRIPTIONS)}"
        raise NotFound(f"there is no built-in template {name!r}", hint=hint)
    return {**built_in_view(name), "files": template_files(name)}


@router.put(
    "/templates/{name}", response_model=response_model(TemplateOut), responses=_PUBLISHED, summary="Publish a template"
)
async def publish_template(name: Name, body: TemplateIn, me: Me, parts: Parts) -> Response:
    """Stores a new version. The same files and settings as those of the newest version change nothing. Its author and
    admins may publish another version. What looks like a secret is refused."""
    text = body.files.get(JOB_FILE)
    if text is None:
        problem = Problem("files", f"there is no {JOB_FILE} among them", "a template is a job file and what it needs")
        raise Invalid("the template has 1 problem, and was not published", problems=(problem,))
    reading = await off_the_loop(parts.parsing, _read, text, parts.dialects)
    if reading.secrets:
        hint = "take them out of the file, and name secrets that each user has: `muster secret set NAME`"
        problem = Problem(f"files.{JOB_FILE}", "has secrets, which others could read", hint)
        raise Invalid("the template has 1 problem, and was not published", problems=(problem,))
    given = templates.Publication(name, body.files, reading.spec, body.description, body.group, body.everyone)
    made, is_new = await templates.publish(parts.context, me.user, given)
    return JSONResponse(template_view(made), 201 if is_new else 200)


def _read(text: str, dialects: Sequence[Dialect]) -> Reading:
    return read_source(text, dialects=dialects, read=reading_of_any)


@router.delete("/templates/{name}", status_code=204, summary="Remove a template, with all its versions")
async def remove_template(name: Name, me: Me, parts: Parts) -> None:
    """Its author and admins may. Jobs that were made from it stay as they are."""
    await templates.remove(parts.context, me.user, name)
