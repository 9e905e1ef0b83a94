"""Audit events, as the audit log reads them: newest first, filtered, and never by more work than a page may cost."""

import pytest

from muster.domain.events import Event
from muster.ports.store import AuditFilter, Change, Store
from muster.stores import audit

pytestmark = pytest.mark.anyio


def act(what: str, actor: str, at: float, owner: str | None = None) -> Event:
    return Event(f"audit.{what}", at, None, actor, owner or actor, {"n": at})


async def told(store: Store, where: AuditFilter, *, limit: int = 10, before: int | None = None) -> list[float]:
    return [event.at for event in (await store.audit(where, limit=limit, before=before)).items]


async def fill(store: Store) -> None:
    acts = [
        act("job.submit", "amy", 1.0),
        act("node.cordon", "root", 2.0),
        act("job.kill", "root", 3.0, owner="amy"),
        act("job.submit", "bo", 4.0),
    ]
    for event in acts:
        await store.apply(Change(events=[event, Event("job.queued", event.at, None, "amy", "amy")]))


async def test_acts_come_newest_first_and_nothing_but_acts(store: Store) -> None:
    await fill(store)
    assert await told(store, AuditFilter()) == [4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (AuditFilter(about="amy"), [3.0, 1.0]),
        (AuditFilter(about="bo"), [4.0]),
        (AuditFilter(actor="root"), [3.0, 2.0]),
        (AuditFilter(about="amy", actor="root"), [3.0]),
        (AuditFilter(prefix="job."), [4.0, 3.0, 1.0]),
        (AuditFilter(prefix="job.kill"), [3.0]),
        (AuditFilter(prefix="%"), []),
        (AuditFilter(since=3.0), [4.0, 3.0]),
        (AuditFilter(until=3.0), [2.0, 1.0]),
    ],
)
async def test_filters(store: Store, where: AuditFilter, expected: list[float]) -> None:
    await fill(store)
    assert await told(store, where) == expected


async def test_pages_go_on_where_the_one_before_ended(store: Store) -> None:
    await fill(store)
    seen: list[float] = []
    before = None
    while True:
        page = await store.audit(AuditFilter(), limit=3, before=before)
        seen += [event.at for event in page.items]
        if page.next_cursor is None:
            break
        before = int(page.next_cursor)
    assert seen == [4.0, 3.0, 2.0, 1.0]


async def test_a_page_gives_up_after_a_bounded_search_and_its_cursor_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_STEP", 3)
    monkeypatch.setattr(audit, "_STEPS", 2)
    await store.apply(Change(events=[act("rare", "amy", 1.0)]))
    await store.apply_all([Change(events=[Event("job.queued", 2.0)]) for _ in range(10)])
    found: list[float] = []
    before, pages = None, 0
    while pages == 0 or before is not None:
        page = await store.audit(AuditFilter(), limit=5, before=before)
        found += [event.at for event in page.items]
        before, pages = (int(page.next_cursor) if page.next_cursor else None), pages + 1
    assert (found, pages > 1) == ([1.0], True)
