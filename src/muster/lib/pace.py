"""How often somebody may do something that costs others work."""

from collections.abc import Hashable


class Pace:
    """So many times within the window. Whoever has done nothing within it is forgotten."""

    def __init__(self, most: int, window_s: float) -> None:
        self._most = most
        self._window_s = window_s
        self._times: dict[Hashable, list[float]] = {}

    def __len__(self) -> int:
        return len(self._times)

    def wait_s(self, who: Hashable, now: float) -> float:
        """How long to wait; 0 if it may be done now, which counts."""
        self._times = {one: times for one, times in self._times.items() if times[-1] > now - self._window_s}
        times = [at for at in self._times.get(who, ()) if at > now - self._window_s]
        if len(times) >= self._most:
            return times[0] + self._window_s - now
        self._times[who] = [*times, now]
        return 0.0
