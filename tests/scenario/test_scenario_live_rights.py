"""Whatever happens, and whoever looks: live pages show exactly what their readers may see, and nothing else."""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.access import Access
from muster.engine.requests import commands
from muster.engine.requests.accounts import Principal
from muster.ports.store import Change, JobFilter
from muster.server.access import Action, may
from muster.server.live.broadcaster import Broadcaster
from muster.server.services import Services
from tests.parts.building import GIB, a_node, a_role, a_spec
from tests.parts.laboratory import DEADLINE_S, Laboratory
from tests.parts.live_page import Page, open_page, services_of, somebody

OWNERS = ("amy", "bob")
GPUS = 3
READERS = {
    "root": somebody("root", is_admin=True),
    "amy": somebody("amy"),
    "bob": somebody("bob"),
    "eve": somebody("eve"),
}
ACTS = ("submit", "submit", "end", "fail", "hold", "kill", "delete", "come back")
Step = tuple[str, str]
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from(OWNERS)), min_size=4, max_size=14)


def secret(owner: str) -> str:
    return f"secret_of_{owner}"


class World:
    """Jobs whose names tell their owner, and whose logs tell a secret of theirs."""

    def __init__(self, lab: Laboratory) -> None:
        self.lab = lab
        self.count = 0

    async def act(self, what: str, owner: str) -> None:
        jobs = (await self.lab.context.store.jobs(JobFilter(), limit=100)).items
        mine = [job for job in jobs if job.owner == owner]
        running = [job for job in mine if job.state_name == "Running"]
        match what:
            case "submit":
                await self._submit(owner, is_room=sum(not job.is_final for job in jobs) < GPUS)
            case "end" | "fail":
                for job in running[:1]:
                    await self._end(job.id, owner, int(what == "fail"))
            case "delete":
                for job in [job for job in mine if job.is_final][:1]:
                    await commands.delete(self.lab.context, job, owner)
            case "hold":
                for job in running[:1]:
                    await commands.hold(self.lab.context, job.id, owner)
            case "kill":
                for job in [job for job in mine if not job.is_final][:1]:
                    await commands.kill(self.lab.context, job.id, owner, 0.0)

    async def _submit(self, owner: str, *, is_room: bool) -> None:
        self.count += 1
        spec = a_spec(a_role(gpus=1), name=f"job-of-{owner}-{self.count}")
        job, _ = await commands.submit(self.lab.context, spec, owner)
        if is_room:
            await self.lab.becomes(job.id, "Running")

    async def _end(self, job_id: str, owner: str, exit_code: int) -> None:
        (task,) = self.lab.backend.of(job_id)
        self.lab.backend.prints(task, f"ModuleNotFoundError: No module named '{secret(owner)}'\n")
        self.lab.backend.end(task, exit_code)
        job = await self.lab.becomes(job_id, "Failed" if exit_code else "Succeeded")
        assert (secret(owner) in job.reason) == bool(exit_code)


@pytest.mark.fast
@settings(max_examples=12)
@given(steps=STEPS, private=st.booleans(), hidden=st.booleans())
def test_pages_show_what_their_readers_may_see_and_nothing_else(
    database_template: Path, steps: list[Step], private: bool, hidden: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live_through(Path(folder), database_template, steps, private=private, hidden=hidden))


async def _live_through(folder: Path, template: Path, steps: list[Step], *, private: bool, hidden: bool) -> None:
    lab = Laboratory(folder, template)
    lab.backend.machines[:] = [a_node("n1", 8, 32 * GIB, *["A100"] * GPUS)]
    await lab.open()
    try:
        lab.context.has_private_jobs = private
        for name in OWNERS:
            await lab.context.store.apply(Change(new_user=READERS[name].user))
        if hidden:
            lab.backend.settings = replace(lab.backend.settings, access=Access(OWNERS))
        parts, world = services_of(lab), World(lab)
        live = Broadcaster(parts)
        begun = lab.context.hub.last_seq
        for name, me in READERS.items():
            assert may(me, Action.JOB_READ, "nobody", private=private) == (name == "root")
        async with AsyncExitStack() as stack:
            pages = {
                name: await stack.enter_async_context(open_page(parts, live, me, "jobs,nodes"))
                for name, me in READERS.items()
            }
            for what, owner in steps:
                if what == "come back":
                    name = f"late {owner} {len(pages)}"
                    late = open_page(parts, live, READERS[owner], "jobs,nodes", after=begun)
                    pages[name] = await stack.enter_async_context(late)
                else:
                    await world.act(what, owner)
            for page in pages.values():
                await _check_shown(lab, parts, page)
        for page in pages.values():
            _check_hidden(page, private=private, hidden=hidden)
    finally:
        await lab.close()


async def _check_shown(lab: Laboratory, parts: Services, page: Page) -> None:
    """The list that the page has put together becomes the one that the API answers."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            jobs = (await lab.context.store.jobs(JobFilter(), limit=100)).items
            expected = {job.id: parts.job_view(page.me, job) for job in jobs if _may_see(page.me, job.owner, parts)}
            if _without_waits(page.jobs) == _without_waits(expected):
                return
            await asyncio.sleep(0.02)


def _without_waits(views: dict[str, Any]) -> dict[str, Any]:
    """Why a job waits is told in lists with its next change."""
    return {key: {**view, "reason": ""} if view["state"] == "Queued" else view for key, view in views.items()}


def _may_see(me: Principal, owner: str, parts: Services) -> bool:
    return may(me, Action.JOB_SEE, owner, private=parts.private_jobs)


def _check_hidden(page: Page, *, private: bool, hidden: bool) -> None:
    if page.me.is_admin:
        return
    text = page.text.decode()
    for owner in OWNERS:
        if owner == page.me.name:
            continue
        assert secret(owner) not in text
        if private:
            assert f"job-of-{owner}" not in text
    if hidden and page.me.name not in OWNERS:
        assert not page.of("nodes")
