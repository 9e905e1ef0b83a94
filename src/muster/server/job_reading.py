"""Reads the spec of a job in a request, with everything that is wrong with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muster.domain.errors import Invalid
from muster.engine.cluster_access import is_usable
from muster.engine.context import Context
from muster.engine.requests.admission import NamesUsed, unknown_names
from muster.server.request_body import LONG_BYTES, Submitted, off_the_loop
from muster.server.services import Services
from muster.wire import requests
from muster.wire.dialects.detecting import Dialect
from muster.wire.documents import Document, refuse_too_much
from muster.wire.specs import ReadDocument, Reading, read_source, reading_of
from muster.wire.unreadable_spec import UnreadableSpec


async def read_job(submitted: Submitted, parts: Services, owner: str, read: ReadDocument = reading_of) -> Reading:
    """Raises Invalid with all problems, among them the clusters, secrets and jobs that the owner does not have. `read`
    is `reading_of_any` where a sweep may be meant."""
    try:
        if submitted.is_long:
            reading = await off_the_loop(parts.parsing, read_body, submitted.body, parts.dialects, read)
        else:
            reading = read_body(submitted.body, parts.dialects, read)
        return await with_wished_cluster(reading, parts.context, owner)
    except UnreadableSpec as error:
        raise error.with_more(await unknown_names(parts.context, names_used(error), owner)) from None


async def with_wished_cluster(reading: Reading, context: Context, owner: str) -> Reading:
    """The reading with the cluster that its file asks for under another name, if its owner has such a cluster."""
    if reading.wish is None:
        return reading
    user = await context.store.user(owner)
    found = next((name for name in reading.wish.names if user and is_usable(context, user, name)), None)
    if found is None:
        return replace(reading, warnings=(*reading.warnings, reading.wish.unmet))
    return replace(reading, spec=replace(reading.spec, cluster=found))


def names_used(spec: UnreadableSpec) -> NamesUsed:
    return NamesUsed(cluster=spec.cluster, secrets=spec.secrets, pull_secret=spec.pull_secret, after=spec.after)


def submitted_again(body: requests.SubmitIn) -> Submitted:
    """A body that the framework has parsed."""
    refuse_too_much(body.spec)
    return Submitted(body, is_long=body.spec is not None or len(body.source or "") > LONG_BYTES)


def read_body(body: requests.SubmitIn, dialects: Sequence[Dialect], read: ReadDocument = reading_of) -> Reading:
    if (body.spec is None) == (body.source is None):
        raise Invalid("give either `spec` or `source`")
    overrides: dict[str, Any] = dict(body.set)
    if body.package is not None:
        overrides["package"] = body.package
    if body.inputs is not None:
        overrides["inputs"] = body.inputs
    if body.source is not None:
        return read_source(body.source, overrides=overrides, params=body.params, dialects=dialects, read=read)
    return read(Document(body.spec), overrides=overrides, params=body.params, dialects=dialects)
