"""Params of a job, and how they are filled into its commands and variables."""

import re
from collections.abc import Mapping
from dataclasses import replace

from muster.domain.specs import JobSpec, ParamValue, Role, Setup

PARAM = re.compile(r"\$\{params\.([^}{]*)\}")


class Substitution:
    """Replaces ${params.NAME}. Each param that is used must exist."""

    def __init__(self, params: Mapping[str, ParamValue]) -> None:
        self._params = {name: as_text(value) for name, value in params.items()}

    def text(self, text: str) -> str:
        return PARAM.sub(lambda match: self._params[match[1]], text)

    def words(self, words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.text, words))

    def mapping(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in values.items()}


def as_text(value: ParamValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_params(spec: JobSpec, params: Mapping[str, ParamValue]) -> JobSpec:
    """The spec with other params, which are filled into everything that was written with params."""
    fill = Substitution(params)
    return replace(
        spec,
        params=dict(params),
        env={**spec.env, **fill.mapping(spec.env_template)} if spec.env_template else spec.env,
        roles=tuple(_role(role, fill) for role in spec.roles),
        setup=None if spec.setup is None else _setup(spec.setup, fill),
    )


def _role(role: Role, fill: Substitution) -> Role:
    if not (role.command_template or role.args_template or role.env_template):
        return role
    return replace(
        role,
        command=fill.words(role.command_template) or role.command,
        args=fill.words(role.args_template) or role.args,
        env={**role.env, **fill.mapping(role.env_template)},
    )


def _setup(setup: Setup, fill: Substitution) -> Setup:
    return replace(setup, command=fill.words(setup.command_template)) if setup.command_template else setup
