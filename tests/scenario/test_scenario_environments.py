"""Environments of several nodes, asked at once: what is told when some do not answer."""

from collections.abc import Sequence

import pytest

from muster.domain.accounts import User, UserRole
from muster.domain.errors import NotFound
from muster.engine.nodes import environments
from muster.ports.environments import Environment, EnvironmentKind, InstalledPackage, Inventory, Listing, Trial
from tests.parts.building import a_node
from tests.parts.laboratory import Laboratory

pytestmark = pytest.mark.anyio
PY = Environment(EnvironmentKind.CONDA, "py", "/srv/conda/envs/py", "3.11.9")
HANGS = "folders do not answer"
ADA = User("ada", UserRole.USER, 0.0)


class Answers:
    """One node has it, one has not, and one cannot look."""

    async def listing(self, node: str, folders: Sequence[str], user: str | None) -> Listing:
        return {"n1": Listing("n1", (PY,)), "n2": Listing("n2"), "n3": Listing("n3", problems=(HANGS,))}[node]

    async def test(self, node: str, environment: Environment, gpu: int | None, user: str) -> Trial:
        return Trial(node, environment, gpu, python="3.11.9")

    async def packages(self, node: str, environment: Environment, user: str) -> Inventory:
        return Inventory(node, environment, "3.11.9", packages=(InstalledPackage("torch", "2.3.1", "python"),))


@pytest.fixture
async def three(lab: Laboratory) -> Laboratory:
    lab.backend.machines = [a_node(name) for name in ("n1", "n2", "n3")]
    lab.backend.environments = Answers()
    assert lab.backend.listener is not None
    lab.backend.listener.nodes_changed("lab")
    await lab.until(lambda: len(lab.context.nodes("lab")) == 3)
    return lab


async def test_a_node_that_cannot_look_is_told_beside_those_that_have_it(three: Laboratory) -> None:
    found = await environments.tested(three.context, ADA, "py", None, None)
    assert [(trial.node, trial.error) for trial in found] == [("n1", ""), ("n3", HANGS)]


async def test_packages_are_listed_by_node_and_a_node_that_cannot_look_is_told(three: Laboratory) -> None:
    found = await environments.inventories(three.context, ADA, "py", None, None)
    assert [(one.node, len(one.packages), one.error) for one in found] == [("n1", 1, ""), ("n3", 0, HANGS)]


async def test_an_environment_that_is_on_no_node_is_not_found(three: Laboratory) -> None:
    with pytest.raises(NotFound, match="offers no environment 'pi'"):
        await environments.tested(three.context, ADA, "pi", None, None)
