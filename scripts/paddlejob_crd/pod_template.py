"""The pod template of a role. It is copied whole into the pods, so every field is accepted and kept, also those of
Kubernetes versions that are newer than this file. Only what most jobs use is described.

The complete schema of a pod, three times, would not fit in the annotation that `kubectl apply` writes."""

from scripts.paddlejob_crd.schema import (
    Schema,
    choice,
    fields,
    items,
    named_items,
    open_fields,
    quantity,
    switch,
    table,
    text,
)


def pod_template() -> Schema:
    return fields(
        "The pods of this role: a PodTemplateSpec, of which metadata and spec are copied into every pod. See `kubectl "
        "explain pod.spec` for all its fields.",
        {
            "metadata": open_fields(
                "Labels and annotations for the pods. The operator adds paddle-res-name, paddle-res-type and its own.",
                {
                    "labels": table("Labels of the pods.", {"type": "string"}),
                    "annotations": table("Annotations of the pods.", {"type": "string"}),
                },
            ),
            "spec": _pod_spec(),
        },
        required=["spec"],
    )


def _pod_spec() -> Schema:
    return open_fields(
        "A PodSpec. All fields of pods are allowed, also those that are not listed here.",
        {
            "containers": named_items(
                "The containers of a pod. The first one trains: it gets the variables of the job (PADDLE_*, "
                "TRAINING_ROLE, ...) and the container port. The job needs at least one.",
                _container(),
                minItems=1,
            ),
            "initContainers": named_items("Containers that end before the others start.", _container()),
            "restartPolicy": choice(
                "What the node does when a container ends: Never (default), OnFailure or Always. Workers of a job with "
                "intranet Service, and all pods of an elastic job, have OnFailure by default.",
                ["Always", "OnFailure", "Never"],
            ),
            "schedulerName": text(
                "The scheduler that chooses the nodes. `volcano` on the worker makes all pods of the job members of "
                "the PodGroup with the job's name."
            ),
            "nodeSelector": table("Labels that a node must have.", {"type": "string"}),
            "tolerations": items("Taints of nodes that the pods tolerate.", open_fields("A toleration.", {})),
            "serviceAccountName": text("The service account of the pods."),
            "priorityClassName": text("The priority class of the pods."),
            "hostNetwork": switch("Whether the pods use the network of their node. intranet Host sets it."),
            "volumes": named_items(
                "Volumes for the containers: persistentVolumeClaim, emptyDir, nfs, configMap, ... GPU jobs need an "
                "emptyDir with medium Memory, mounted at /dev/shm, as shared memory.",
                open_fields("A volume.", {"name": text("Its name in volumeMounts.")}, required=["name"]),
            ),
        },
        required=["containers"],
    )


def _container() -> Schema:
    return open_fields(
        "A container. All fields of containers are allowed, also those that are not listed here.",
        {
            "name": text("The name of the container, unique in the pod.", minLength=1),
            "image": text("The image of the container."),
            "command": items("The program, instead of the image's entry point.", {"type": "string"}),
            "args": items("The arguments of the program.", {"type": "string"}),
            "workingDir": text("The folder in which the program starts."),
            "env": items(
                "Variables. A variable that is set here wins over the job's own variable of that name.",
                open_fields(
                    "A variable with a value or a valueFrom.",
                    {"name": text("Its name."), "value": text("Its value.")},
                    required=["name"],
                ),
            ),
            "resources": open_fields(
                "What the container needs, for example limits: {nvidia.com/gpu: 1}.",
                {
                    "limits": table("The most that it gets.", quantity()),
                    "requests": table("What the node must have free.", quantity()),
                },
            ),
            "volumeMounts": items(
                "Where the container sees the volumes.",
                open_fields(
                    "A mount.",
                    {"name": text("The name of a volume."), "mountPath": text("A path in the container.")},
                    required=["name", "mountPath"],
                ),
            ),
        },
        required=["name"],
    )
