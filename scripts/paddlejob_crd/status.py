"""What the operator writes: the status of a PaddleJob."""

from scripts.paddlejob_crd.schema import Schema, choice, fields, items, moment, number, text

PHASES = ["Pending", "Starting", "Running", "Restarting", "Completed", "Failed", "Suspended", "Terminating"]
MODES = ["PS", "Collective", "Single"]


def status() -> Schema:
    return fields(
        "What the operator has seen of the job. Users do not write it.",
        {
            "phase": choice(
                "Where the job stands. It only goes forward, unless the job is restarted or suspended.", PHASES
            ),
            "mode": choice("How the job trains.", MODES),
            "ps": _role_status("ps"),
            "worker": _role_status("worker"),
            "heter": _role_status("heter"),
            "elastic": choice("Whether an elastic job is being scaled.", ["NONE", "DOING", "DONE", "ERROR"]),
            "startTime": moment(
                "When all pods of the job ran for the first time, or for the first time since the job was resumed."
            ),
            "completionTime": moment("When the job ended."),
            "observedGeneration": number("The generation of the spec that this status is about.", format="int64"),
            "restarts": number("How often all pods have been restarted together.", format="int32"),
            "restartTime": moment("When the pods of a Restarting job are made again."),
            "conditions": _conditions(),
        },
    )


def _conditions() -> Schema:
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    condition = fields(
        "A condition.",
        {
            "type": text("What the condition says something about."),
            "status": choice("Whether it holds.", ["True", "False", "Unknown"]),
            "reason": text("The cause in one word."),
            "message": text("The cause in a sentence."),
            "lastTransitionTime": moment("When `status` changed last."),
            "observedGeneration": number("The generation of the spec that the condition is about.", format="int64"),
        },
        required=["type", "status"],
    )
    return items("What is known about the job, each with a reason.", condition, **keyed)


def _role_status(role: str) -> Schema:
    counts = {
        "pending": "How many pods wait for a node or for their images.",
        "starting": "How many pods run, but are not ready.",
        "running": "How many pods run.",
        "failed": "How many pods have failed.",
        "succeeded": "How many pods have succeeded.",
        "unknown": "How many pods are on nodes that do not answer.",
        "replicas": "How many pods there are.",
    }
    return fields(
        f"The pods of {role}.",
        {
            **{name: number(meaning, format="int32") for name, meaning in counts.items()},
            "ready": text("Running and wanted pods as in `2/4`; a column of `kubectl get pdj`."),
            "selector": text("The labels of the pods, for `kubectl scale` and autoscalers."),
            "refs": items(
                "The pods.",
                fields(
                    "A reference to a pod.",
                    {
                        name: text(meaning)
                        for name, meaning in {
                            "apiVersion": "v1.",
                            "kind": "Pod.",
                            "name": "Its name.",
                            "namespace": "Its namespace.",
                            "uid": "Its unique identifier.",
                            "resourceVersion": "Its version.",
                            "fieldPath": "A part of it.",
                        }.items()
                    },
                ),
            ),
        },
    )
