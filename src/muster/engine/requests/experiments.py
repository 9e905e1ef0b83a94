"""Makes and changes experiments, by which a person groups runs."""

from collections.abc import Mapping
from dataclasses import replace

from muster.domain.errors import Conflict, Invalid
from muster.domain.experiments.experiments import (
    DEFAULT_NAME,
    LONGEST_NAME,
    MOST_EXPERIMENTS,
    MOST_TAG_BYTES,
    MOST_TAGS,
    Experiment,
    tag_bytes,
)
from muster.domain.job_notes import LONGEST_KEY, LONGEST_TAG
from muster.engine.context import Context
from muster.engine.requests.reported_runs import is_unfit
from muster.lib.ids import new_id
from muster.ports.store import Change


async def create(context: Context, owner: str, name: str, tags: Mapping[str, str]) -> Experiment:
    now = context.clock()
    made = _checked(Experiment(new_id(), owner, name, now, now, tags=tags))
    same = await context.store.find_experiment(owner, name)
    if name == DEFAULT_NAME or same is not None:
        how = "was deleted, and can be restored" if same is not None and same.is_deleted else "exists already"
        raise Conflict(f"experiment {name!r} {how}", hint="choose another name")
    if await context.store.count_experiments(owner) >= MOST_EXPERIMENTS:
        raise Conflict(f"{owner} has {MOST_EXPERIMENTS} experiments, and no more are allowed")
    await context.store.apply(Change(experiment=made))
    return made


async def change(
    context: Context,
    known: Experiment,
    *,
    name: str | None = None,
    is_deleted: bool | None = None,
    tags: Mapping[str, str] | None = None,
) -> None:
    changed = replace(
        known,
        name=known.name if name is None else name,
        is_deleted=known.is_deleted if is_deleted is None else is_deleted,
        tags=known.tags if tags is None else tags,
        updated_at=context.clock(),
    )
    await context.store.apply(Change(experiment=_checked(changed)))


def _checked(one: Experiment) -> Experiment:
    if not one.name.strip() or len(one.name) > LONGEST_NAME or is_unfit(one.name):
        raise Invalid(f"an experiment needs a name of 1 to {LONGEST_NAME} characters that can be stored")
    if len(one.tags) > MOST_TAGS:
        raise Invalid(f"an experiment has at most {MOST_TAGS} tags")
    if (size := tag_bytes(one.tags)) > MOST_TAG_BYTES:
        raise Invalid(
            f"the tags of this experiment would have {size} bytes, {MOST_TAG_BYTES} are allowed",
            hint="log long texts as files of a run",
        )
    for key, value in one.tags.items():
        if not key or len(key) > LONGEST_KEY or len(value) > LONGEST_TAG or is_unfit(key) or is_unfit(value):
            raise Invalid(
                f"the tag {key[:60]!r} cannot be stored: its name or its value is too long, or has odd letters"
            )
    return one
