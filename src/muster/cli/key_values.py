"""Parses `key=value` arguments. Values are read as in YAML: numbers, true, null, [lists], {maps}, or else text."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import click

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": ""}


def parse_assignments(items: Iterable[str], option: str) -> dict[str, Any]:
    """`roles.worker.replicas=4` becomes {"roles.worker.replicas": 4}. Raises click.BadParameter."""
    return {key: parse_value(text) for key, text in _split(items, option)}


def parse_texts(items: Iterable[str], option: str) -> dict[str, str]:
    """`EPOCHS=3` becomes {"EPOCHS": "3"}: values stay text, like environment variables."""
    return dict(_split(items, option))


def parse_variables(items: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """`EPOCHS=3` becomes {"EPOCHS": "3"}; `EPOCHS` alone takes the value from the caller's environment."""
    return dict(_variable(item, environ, "--env", "") for item in items)


def parse_secrets(items: Iterable[str]) -> dict[str, str]:
    """`wandb=WANDB_API_KEY` becomes {"wandb": "WANDB_API_KEY"}."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, variable = item.partition("=")
        if not equals or not name.strip() or not variable.strip():
            raise click.BadParameter(
                f"{item!r} is not NAME=VARIABLE: the name of a secret and the variable that gets it. The value is "
                f"never written here; `muster secret set {name.strip() or 'NAME'}` stores it",
                param_hint="--secret",
            )
        found[name.strip()] = variable.strip()
    return found


def parse_devices(items: Iterable[str]) -> dict[str, int]:
    """`xilinx.com/fpga=1` becomes {"xilinx.com/fpga": 1}. The server says which names and numbers it accepts."""
    found: dict[str, int] = {}
    for item in items:
        name, equals, count = item.partition("=")
        if not equals or not name.strip() or not count.strip().isdecimal():
            raise click.BadParameter(
                f"{item!r} is not RESOURCE=COUNT, such as xilinx.com/fpga=1", param_hint="--device"
            )
        found[name.strip()] = int(count)
    return found


def parse_value(text: str) -> Any:
    stripped = text.strip()
    if stripped.lower() in _WORDS:
        return _WORDS[stripped.lower()]
    try:
        value = json.loads(stripped)
    except ValueError:
        return _flow(stripped) if stripped[0] in "[{" else text
    if isinstance(value, float) and not math.isfinite(value):
        return text
    return value


def read_env_file(text: str, name: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Reads `K=V` lines, and lines with a name alone, whose value is that of the caller's environment. Blank lines, `#`
    lines, a leading `export` and quotes around a value are allowed."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip().removeprefix("export ")
        if not stripped or stripped.startswith("#"):
            continue
        key, value = _variable(stripped, environ, "--env-file", f"{name} line {number}: ")
        found[key] = _unquoted(value.strip()) if "=" in stripped else value
    return found


def _variable(item: str, environ: Mapping[str, str], option: str, where: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    name = name.strip()
    if not name or (not equals and not _VARIABLE.fullmatch(name)):
        raise click.BadParameter(f"{where}{item!r} is neither NAME=VALUE nor NAME", param_hint=option)
    if equals:
        return name, value
    if name not in environ:
        raise click.BadParameter(
            f"{where}{name} is not set in your environment: set and export it, or write {name}=VALUE", param_hint=option
        )
    return name, environ[name]


def _split(items: Iterable[str], option: str) -> Iterable[tuple[str, str]]:
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{item!r} is not KEY=VALUE", param_hint=option)
        yield key.strip(), value


def _flow(text: str) -> Any:
    """Parses YAML that is not JSON, such as `{max: 3}` and `[a, b]`. It is rare, so the import is only here."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value
