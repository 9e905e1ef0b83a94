"""A spec with problems, of which the names can still be looked up, so that everything that is wrong is told at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from muster.domain.errors import Invalid, Problem
from muster.domain.specs import SecretUse
from muster.wire.spec_problems import MAX_PROBLEMS
from muster.wire.spec_schema import MAX_DEPENDENCIES, MAX_SECRETS


class UnreadableSpec(Invalid):
    def __init__(
        self,
        problems: Sequence[Problem],
        uncounted: int,
        data: Mapping[str, Any],
        placed: Callable[[Problem], Problem],
        warnings: tuple[str, ...] = (),
    ) -> None:
        count = len(problems) + uncounted
        shown = sorted(problems[:MAX_PROBLEMS], key=lambda found: found.line or 0)
        said = "the job spec has 1 problem" if count == 1 else f"the job spec has {count} problems"
        hint = f"the first {len(shown)} are shown" if len(shown) < count else ""
        super().__init__(said, hint=hint, problems=tuple(shown))
        self.warnings = warnings
        self._given = (problems, uncounted, data, placed)

    @property
    def name(self) -> str:
        """The name of the job, or nothing if it has none."""
        found = self._given[2].get("name")
        return found if isinstance(found, str) else ""

    @property
    def cluster(self) -> str | None:
        found = self._given[2].get("cluster")
        return found if isinstance(found, str) and not self._is_told("cluster") else None

    @property
    def secrets(self) -> tuple[SecretUse, ...]:
        """The secrets in their order; those that are not written like a secret have no name."""
        found = self._given[2].get("secrets")
        items = found[:MAX_SECRETS] if isinstance(found, list) else []
        return tuple(_secret_named(item, self._is_told(f"secrets[{place}]")) for place, item in enumerate(items))

    @property
    def pull_secret(self) -> str | None:
        runtime = self._given[2].get("runtime")
        found = runtime.get("pullSecret") if isinstance(runtime, Mapping) else None
        return found if isinstance(found, str) and not self._is_told("runtime.pullSecret") else None

    @property
    def after(self) -> tuple[str, ...]:
        """The names of the jobs that it waits for, in their order; those that are not written like one are empty."""
        found = self._given[2].get("after")
        if not isinstance(found, list):
            return () if self._is_told("after") else (_job_named(found),)
        return tuple(
            "" if self._is_told(f"after[{place}]") else _job_named(item)
            for place, item in enumerate(found[:MAX_DEPENDENCIES])
        )

    def with_more(self, more: Sequence[Problem]) -> Self:
        problems, uncounted, data, placed = self._given
        told = [*problems, *(placed(problem) for problem in more)]
        return type(self)(told, uncounted, data, placed, self.warnings)

    def _is_told(self, path: str) -> bool:
        return any(
            problem.path == path or problem.path.startswith((f"{path}.", f"{path}[")) for problem in self._given[0]
        )


def _job_named(item: Any) -> str:
    name = item.get("job") if isinstance(item, Mapping) else item
    return name if isinstance(name, str) else ""


def _secret_named(item: Any, is_told: bool) -> SecretUse:
    use = item if isinstance(item, Mapping) and not is_told else {}
    name, env, file = (found if isinstance(found := use.get(key), str) else "" for key in ("name", "env", "file"))
    return SecretUse(name, env, file)
