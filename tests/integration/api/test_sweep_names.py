"""A sweep is found by its id first: nobody hides it by the name of another one."""

from tests.integration.api.calling import Caller, ok
from tests.integration.api.people import People, unique


def test_a_sweep_named_like_the_id_of_another_hides_it_from_nobody(private_people: People) -> None:
    owner, other = private_people.owner, private_people.other
    mine = submitted(owner, unique("search"))
    submitted(other, mine["id"])
    for caller in (owner, private_people.admin):
        assert ok(caller.get(f"/sweeps/{mine['id']}"))["id"] == mine["id"]
    assert len(ok(owner.get(f"/sweeps/{mine['id']}/members"))["items"]) == 2
    runs = ok(owner.get(f"/experiments?sweep={mine['id']}"))["items"]
    assert len(runs) == 2
    assert ok(owner.get(f"/sweeps/{mine['name']}"))["id"] == mine["id"]


def submitted(caller: Caller, name: str) -> dict[str, str]:
    plan = {"grid": {"lr": [1, 2]}}
    spec = {"name": name, "command": "true", "resources": {"cpu": "10m"}, "sweep": plan}
    made: dict[str, str] = ok(caller.post("/sweeps", {"spec": spec}), 201)
    return made
