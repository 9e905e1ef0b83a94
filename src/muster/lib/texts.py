"""Names of files are bytes, and Python keeps in a string what is no text."""


def is_text(name: str) -> bool:
    """Whether it can be written as UTF-8, and so be sent."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
