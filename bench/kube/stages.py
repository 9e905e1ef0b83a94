"""How the pods of a measured job behave on fake nodes: they get an address, run once they are released, and end.

A real kubelet holds a pod in its init container until the operator has made the job's addresses known. Here the pod
waits for the annotation with which the operator releases it; an operator that works otherwise is given a second.
"""

FINISHES = "finishes"
"""A pod whose first container has this argument succeeds a second after it began to run; others run for ever."""

_STARTING = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-starting}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.podIP, operator: DoesNotExist}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Pending
      startTime: {{ $now | Quote }}
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
      conditions:
      - {type: Initialized, status: "False", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "False", lastTransitionTime: {{ $now | Quote }}}
      {{ if .spec.initContainers }}
      initContainerStatuses:
      {{ range .spec.initContainers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0,
         state: {running: {startedAt: {{ $now | Quote }}}}}
      {{ end }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0,
         state: {waiting: {reason: PodInitializing}}}
      {{ end }}
"""
_RUNNING = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-running}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.podIP, operator: Exists}
    - {key: .status.phase, operator: In, values: [Pending]}
    RELEASED
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
      {{ if .spec.initContainers }}
      initContainerStatuses:
      {{ range .spec.initContainers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0,
         state: {terminated: {exitCode: 0, reason: Completed, finishedAt: {{ $now | Quote }}}}}
      {{ end }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, started: true, restartCount: 0,
         state: {running: {startedAt: {{ $now | Quote }}}}}
      {{ end }}
"""
_FINISHED = (
    f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-finished}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {{key: .metadata.deletionTimestamp, operator: DoesNotExist}}
    - {{key: .status.phase, operator: In, values: [Running]}}
    - {{key: '.spec.containers[0].args[0]', operator: In, values: [{FINISHES}]}}
  delay: {{durationMilliseconds: 1000}}
"""
    + """
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Succeeded
      conditions:
      - {type: Ready, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "False", reason: PodCompleted, lastTransitionTime: {{ $now | Quote }}}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, started: false, restartCount: 0,
         state: {terminated: {exitCode: 0, reason: Completed, finishedAt: {{ $now | Quote }}}}}
      {{ end }}
"""
)
_DELETED = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-deleted}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next:
    finalizers: {empty: true}
    delete: true
"""


def pod_stages(released_by: str | None) -> str:
    """The stages of pods that run as soon as they have this annotation."""
    if released_by is None:
        running = _RUNNING.replace("    RELEASED\n", "  delay: {durationMilliseconds: 1000}\n")
    else:
        held = f"""- {{key: '.metadata.annotations["{released_by}"]', operator: Exists}}"""
        running = _RUNNING.replace("RELEASED", held)
    return "---".join([_STARTING, running, _FINISHED, _DELETED])
