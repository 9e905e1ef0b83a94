"""Paths of files in addresses. Whoever imports this may write `{path:anypath}` in a route."""

from starlette.convertors import PathConvertor, register_url_convertor


class AnyPath(PathConvertor):
    """A path whose names may have line breaks in them, as files may."""

    regex = r"[\s\S]*"


ANY_PATH = "anypath"
register_url_convertor(ANY_PATH, AnyPath())
