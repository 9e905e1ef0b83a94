"""Jobs are asked for as JSON where Slurm offers it, and as text tables otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from muster.backends.slurm.answers.queries import Jobs, SlurmQueries
from muster.backends.slurm.answers.versions import offers_json
from muster.domain.errors import BackendError, Unreachable
from tests.unit.slurm.samples import documented

pytestmark = [pytest.mark.fast, pytest.mark.anyio]
TEXT = "\x1f".join(
    ["41", "", "", "41", "", "alice", "gpu", "RUNNING", "None", "", "", "", "gpu01", "cpu=1", "0", "0", "train", ""]
)
JOBS = {"41": "train"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Login:
    """A login node whose squeue prints this JSON, and a table of one job."""

    def __init__(self, content: str, code: int = 0, err: str = "", *, is_away: bool = False) -> None:
        self._json = {"code": code, "out": content, "err": err, "away": is_away}
        self.asked: list[list[str]] = []

    @property
    def forms(self) -> list[str]:
        return ["json" if "--json" in command else "text" for command in self.asked]

    async def ask(self, commands: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Any]]:
        self.asked += [list(command) for command in commands]
        table = {"code": 0, "out": f"{TEXT}\x1e\n", "err": "", "away": False}
        return [self._json if "--json" in command else table for command in commands]


async def answered(login: Login, version: str, *, times: int = 1) -> Jobs:
    queries, found = SlurmQueries(login.ask), Jobs()
    queries.opened(version)
    for _ in range(times):
        found = (await queries.ask_all(JOBS, with_machines=False)).jobs
    return found


def one_job() -> str:
    content = documented("squeue-23.11.json").splitlines(keepends=True)
    return "".join([*content[:2], content[2].rstrip(",\n") + "\n", *content[5:]])


@pytest.mark.parametrize(
    ("version", "is_offered"),
    [
        ("slurm-wlm 22.05.8", False),
        ("slurm 23.02.7", False),
        ("slurm 23.11.0", True),
        ("slurm 24.05.2", True),
        ("slurm 25.05.0-0rc1", True),
        ("", False),
    ],
)
def test_which_releases_offer_json(version: str, is_offered: bool) -> None:
    assert offers_json(version) is is_offered


@pytest.mark.parametrize(("version", "form"), [("slurm 22.05.8", "text"), ("slurm 24.11.0", "json")])
async def test_release_decides_what_is_asked(version: str, form: str) -> None:
    login = Login(one_job())

    found = await answered(login, version)

    assert login.forms == [form]
    assert login.asked[0][-1] == "--jobs=41"
    job = found.get("41")
    assert job is not None
    assert job.is_allocated


@pytest.mark.parametrize(
    "login",
    [Login("{}"), Login("[]"), Login("slurm"), Login("", 1, "squeue: error: cannot find serializer plugin for json")],
    ids=["no jobs", "no object", "no JSON", "not built with JSON"],
)
async def test_tables_are_asked_for_if_the_json_cannot_be_read(login: Login) -> None:
    found = await answered(login, "slurm 24.11.0", times=2)

    assert login.forms == ["json", "text", "text"]
    assert found.get("41") is not None


async def test_tables_are_asked_for_after_jobs_that_nobody_asked_for() -> None:
    login = Login(documented("squeue-24.11.json"))

    found = await answered(login, "slurm 24.11.0", times=2)

    assert login.forms == ["json", "text"]
    assert [*found.by_id] == ["41"]


async def test_slurm_that_does_not_answer_says_nothing_about_its_json() -> None:
    login = Login("", 1, "Unable to contact slurm controller", is_away=True)
    queries = SlurmQueries(login.ask)
    queries.opened("slurm 24.11.0")

    for _ in range(2):
        with pytest.raises(Unreachable):
            await queries.ask_all(JOBS, with_machines=False)

    assert login.forms == ["json", "json"]


async def test_job_that_slurm_does_not_know_any_more_is_no_failure() -> None:
    login = Login("", 1, "slurm_load_jobs error: Invalid job id specified")

    await answered(login, "slurm 24.11.0")

    assert [command[0] for command in login.asked] == ["squeue", "sacct"]


async def test_failure_of_a_table_is_told() -> None:
    async def ask(commands: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Any]]:
        return [{"code": 1, "out": "", "err": "squeue: error: Invalid field", "away": False} for _ in commands]

    with pytest.raises(BackendError, match="Invalid field"):
        await SlurmQueries(ask).ask_all(JOBS, with_machines=False)
