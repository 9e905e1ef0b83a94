"""Times as OpenPAI writes them: whole milliseconds since the epoch."""


def milliseconds(time_s: float | None) -> int | None:
    return None if time_s is None else int(time_s * 1000)
