"""Generates visits to a shop: which user saw which item, and whether they clicked. The seed is fixed."""

import random
from dataclasses import dataclass

AGES, CITIES, ITEMS = 6, 5, 10
_TASTE_SEED = 7
_HELD_OUT_SEED = 1_000_000


@dataclass(frozen=True)
class Visit:
    age: int
    city: int
    item: int
    clicked: bool


def training_visits(worker: int, count: int) -> list[Visit]:
    """Return the shard of this worker. Other workers get other visits of the same users."""
    return _visits(worker, count)


def held_out_visits(count: int) -> list[Visit]:
    """Return visits that no worker trains on."""
    return _visits(_HELD_OUT_SEED, count)


def _visits(seed: int, count: int) -> list[Visit]:
    taste = random.Random(_TASTE_SEED)
    by_city = [taste.gauss(0, 0.7) for _ in range(CITIES)]
    by_pair = [[taste.gauss(0, 2.0) for _ in range(ITEMS)] for _ in range(AGES)]
    chance = random.Random(seed)
    visits = []
    for _ in range(count):
        age, city, item = chance.randrange(AGES), chance.randrange(CITIES), chance.randrange(ITEMS)
        visits.append(Visit(age, city, item, by_pair[age][item] + by_city[city] > 0))
    return visits
