"""Tables of metrics, and the families that a scrape fills from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True)
class Described:
    """The help text and labels of a metric, and the agent's name for it, if it has one."""

    help: str
    labels: tuple[str, ...] = ()
    measured: str = ""
    kind: str = "gauge"


class Families:
    """The gauges of one scrape. A metric that has no value is left out."""

    def __init__(self, table: Mapping[str, Described]) -> None:
        self._families = {
            name: GaugeMetricFamily(name, metric.help, labels=metric.labels) for name, metric in table.items()
        }

    def add(self, metric: str, labels: Sequence[str], value: object) -> None:
        """A value that is not known is left out."""
        if isinstance(value, int | float):
            self._families[metric].add_metric(labels, value)

    def filled(self) -> list[GaugeMetricFamily]:
        return [family for family in self._families.values() if family.samples]


class Filled(Collector):
    """Families that were filled before."""

    def __init__(self, families: Families) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families.filled()
