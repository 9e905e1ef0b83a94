"""What a backend says of itself: its cluster, and its capabilities by name."""

from dataclasses import fields

import pytest

from muster.domain.errors import NotOffered
from muster.domain.specs import Mount
from muster.ports.capabilities import required
from tests.contract.backends.observing import Site

pytestmark = pytest.mark.anyio


async def test_the_names_of_capabilities_are_those_that_are_there(site: Site) -> None:
    offered = site.backend.capabilities
    there = {one.name.replace("_", "-") for one in fields(offered) if getattr(offered, one.name) is not None}
    assert set(offered.names()) == there
    assert len(offered.names()) == len(there)


async def test_what_is_not_offered_is_refused_by_capability_and_cluster(site: Site) -> None:
    offered = site.backend.capabilities
    for one in fields(offered):
        capability, name = getattr(offered, one.name), one.name.replace("_", "-")
        if capability is not None:
            assert required(capability, name, site.backend.cluster) is capability
            continue
        with pytest.raises(NotOffered) as refused:
            required(capability, name, site.backend.cluster)
        assert (refused.value.capability, refused.value.cluster) == (name, site.backend.cluster)


async def test_the_cluster_is_the_one_of_the_settings(site: Site) -> None:
    assert site.backend.cluster == site.backend.settings.name
    assert {node.cluster for node in site.backend.nodes()} == {site.backend.cluster}


async def test_configuring_the_same_settings_changes_nothing(site: Site) -> None:
    before = [node.name for node in site.backend.nodes()]
    (task,) = await site.running()
    await site.backend.configure(site.backend.settings)
    assert [node.name for node in site.backend.nodes()] == before
    assert task.id in {one.task_id for one in (await site.backend.observe_all()).observations}


async def test_what_cannot_be_honoured_is_said_with_its_path(site: Site) -> None:
    plain = site.gang().spec
    assert site.backend.cannot_honour(plain) == []
    mounted = site.gang(mounts=(Mount("no-such-folder", "data"),)).spec
    problems = site.backend.cannot_honour(mounted)
    assert problems
    assert all(problem.path.startswith("mounts") and problem.message for problem in problems)
