"""The colour of every state. Colours only repeat what the text says, so nothing is lost without them."""

STATE_COLOURS = {
    "Queued": "yellow",
    "Held": "magenta",
    "Waiting": "yellow",
    "Launching": "cyan",
    "Preparing": "cyan",
    "Starting": "cyan",
    "Running": "blue",
    "Stopping": "yellow",
    "Succeeded": "green",
    "Failed": "red",
    "Cancelled": "bright_black",
    "Stopped": "bright_black",
    "Lost": "red",
    "Joining": "cyan",
    "Ready": "green",
    "Cordoned": "yellow",
    "Draining": "yellow",
    "Unreachable": "red",
    "Retired": "bright_black",
}
LABEL_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green", "bright_magenta")


def state_colour(state: str) -> str | None:
    return STATE_COLOURS.get(state)
