"""What exists of a job, as far as the operator can see."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.operator.job.environment import FIRST_PORT
from muster.operator.job.pod_states import PodView


@dataclass(frozen=True, slots=True)
class World:
    pods: tuple[PodView, ...] = ()
    """The pods that the job owns."""
    services: Mapping[str, str] = field(default_factory=dict)
    """The services that the job owns: name and uid."""
    config: Mapping[str, str] | None = None
    """The content of the job's ConfigMap."""
    config_peers: str = ""
    """The digest of the peers that the ConfigMap names."""
    foreign: Mapping[str, str] = field(default_factory=dict)
    """Names that the job needs and that belong to somebody else, with what they are: `Pod`, `Service`, `ConfigMap`."""
    earlier: frozenset[str] = frozenset()
    """Names of pods and services that an earlier job of the same name has not left yet."""
    refusal: str = ""
    """Why the API server refuses pods of this job, in its own words."""
    is_held: bool = False
    """Whether nothing may be created now, because the API server refused it a moment ago."""
    first_port: int = FIRST_PORT
