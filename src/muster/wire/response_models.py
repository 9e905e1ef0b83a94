"""The API's entities as pydantic models, from which FastAPI generates the OpenAPI document.

Answers themselves are plain dictionaries of these types; nothing is validated on the way out. The types are translated
because pydantic does not take `typing.TypedDict` before Python 3.12.
"""

from functools import cache
from types import UnionType
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, Field, create_model

from muster.api.usage import UsageSample

_OPEN: frozenset[type] = frozenset({UsageSample})
"""Entities that may have more keys than are documented."""


@cache
def response_model(entity: type) -> type[BaseModel]:
    """The model of a typed dictionary. Strings in `Annotated` become descriptions."""
    fields: dict[str, Any] = {key: _field(hint) for key, hint in get_type_hints(entity, include_extras=True).items()}
    model: type[BaseModel] = create_model(
        entity.__name__,
        # The schema is built when somebody asks for the document: servers start faster without it.
        __config__=ConfigDict(extra="allow" if entity in _OPEN else "forbid", defer_build=True),
        __doc__=entity.__doc__,
        __module__=entity.__module__,
        **fields,
    )
    return model


def _field(hint: Any) -> tuple[Any, Any]:
    is_optional = get_origin(hint) is NotRequired
    if is_optional:
        (hint,) = get_args(hint)
    description = None
    if get_origin(hint) is Annotated:
        hint, description = get_args(hint)
    if is_optional:
        return _translated(hint), Field(default_factory=_absent, description=description)
    return _translated(hint), Field(description=description)


def _absent() -> None:
    """A factory, because a plain default would be documented as the value of a key that is simply not there."""


def _translated(hint: Any) -> Any:
    if is_typeddict(hint):
        return response_model(hint)
    arguments = tuple(_translated(argument) for argument in get_args(hint))
    match get_origin(hint):
        case origin if origin in (Union, UnionType):
            return Union[arguments]  # noqa: UP007 - the members are only known here
        case origin if origin in (list, dict):
            return origin[arguments]
        case _:
            return hint
