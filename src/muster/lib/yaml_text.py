"""Writes documents as YAML the way people do: in the order of their keys, and texts of several lines as blocks."""

from collections.abc import Mapping
from typing import Any

import yaml


def yaml_text(document: Mapping[str, Any]) -> str:
    text: str = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
