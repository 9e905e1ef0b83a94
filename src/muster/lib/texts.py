"""Checks text for UTF-8. File names are bytes, and a Python string may contain bytes that are not valid text."""


def is_text(name: str) -> bool:
    """Whether the name can be encoded as UTF-8 and therefore be sent."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
