"""What happened a short while ago, so that it need not be told again."""

from collections import OrderedDict

_WITHIN_S = 600.0
_MOST = 10_000


class Recent:
    """Keeps so many keys, the oldest make way."""

    def __init__(self, within_s: float = _WITHIN_S, most: int = _MOST) -> None:
        self._within_s = within_s
        self._most = most
        self._seen: OrderedDict[str, float] = OrderedDict()

    def is_new(self, key: str, now: float) -> bool:
        """Whether it is the first time in a while."""
        seen_at = self._seen.get(key)
        if seen_at is not None and now - seen_at < self._within_s:
            return False
        self._seen[key] = now
        self._seen.move_to_end(key)
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return True
