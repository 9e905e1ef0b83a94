"""What a user writes: the spec of a PaddleJob, with the checks that span several fields."""

from scripts.paddlejob_crd.pod_template import pod_template
from scripts.paddlejob_crd.schema import Schema, choice, fields, number, quantity, rule, switch, table, text

CLEAN_POD_POLICIES = ["Always", "Never", "OnFailure", "OnCompletion", ""]
INTRANETS = ["PodIP", "Service", "Host", ""]
MOST_REPLICAS = 10_000
LONGEST_NAME = 63
"""The name of a pod is also its host name, a DNS label."""


def spec() -> Schema:
    return fields(
        "What is to be run. A job with ps and worker runs in PS mode, a job with several workers in Collective mode, "
        "and a job with one worker in Single mode.",
        {
            "worker": _role(
                "The trainers. Every job needs them. The job is Completed when all workers have succeeded, also if ps "
                "still run."
            ),
            "ps": _role("The parameter servers of a job in PS mode. Such a job needs worker, too."),
            "heter": _role("The heterogeneous workers of a job in PS mode."),
            "intranet": choice(
                "How the pods reach each other. PodIP: by their IP addresses. Service: by names, with one headless "
                "Service per pod. Host: by the addresses of their nodes, with the nodes' network and ports that no "
                "other job has. Default: PodIP.",
                INTRANETS,
                default="PodIP",
                **{"x-kubernetes-validations": [rule("self == oldSelf", "intranet of a job cannot be changed")]},
            ),
            "cleanPodPolicy": choice(
                "Whether pods are deleted when the job ends. Always: at success and failure. Never: they are kept, "
                "which helps with debugging. OnFailure: only after a failure. OnCompletion: only after success. "
                "Default: OnCompletion.",
                CLEAN_POD_POLICIES,
                default="OnCompletion",
            ),
            "cleanPolicy": text(
                "Ignored: a common misspelling of cleanPodPolicy, accepted so that old files still apply. The job gets "
                "a condition and an event that say so."
            ),
            "withGloo": number(
                "Which processes of a job in PS mode meet by Gloo. 0: none. 1: the workers. 2: the workers and the "
                "ps. It has no effect without ps. Default: 0.",
                enum=[0, 1, 2],
                default=0,
            ),
            "elastic": number(
                "Any value makes the job elastic: pods that are lost are made again, and the job goes on with any "
                "number of pods from requests to limits of a role."
            ),
            "suspend": switch(
                "True deletes the pods and starts none until it is false again. The job then starts from the "
                "beginning, and this does not count as a restart."
            ),
            "backoffLimit": number(
                "How often all pods are deleted and started again together after one of them has failed. Default: 0, a "
                "failed pod fails the job.",
                format="int32",
                minimum=0,
            ),
            "restartBackoffSeconds": number(
                "The seconds before the first restart of all pods. They double with each restart, up to 360. Default: "
                "10.",
                format="int32",
                minimum=0,
            ),
            "activeDeadlineSeconds": number(
                "How many seconds after its startTime the job fails if it still runs. Time in suspension does not "
                "count.",
                format="int64",
                minimum=1,
            ),
            "ttlSecondsAfterFinished": number(
                "How many seconds after its completionTime the PaddleJob is deleted. Default: it is kept.",
                format="int32",
                minimum=0,
            ),
            "schedulingPolicy": _scheduling_policy(),
            "sampleSetRef": _sample_set(),
        },
        **{"x-kubernetes-validations": _RULES},
    )


def _role(description: str) -> Schema:
    return fields(
        description,
        {
            "replicas": number(
                "How many pods the role has. It may change while the job runs.",
                format="int32",
                minimum=0,
                maximum=MOST_REPLICAS,
            ),
            "requests": number(
                "The smallest number of pods with which an elastic job goes on. Default: replicas. Without elastic it "
                "has no effect.",
                format="int32",
                minimum=0,
                maximum=MOST_REPLICAS,
            ),
            "limits": number(
                "The largest number of pods of an elastic job. Default: replicas. Without elastic it has no effect.",
                format="int32",
                minimum=0,
                maximum=MOST_REPLICAS,
            ),
            "template": pod_template(),
        },
        required=["replicas", "template"],
    )


def _scheduling_policy() -> Schema:
    return fields(
        "How the pods are scheduled together.",
        {
            "minAvailable": number(
                "How many pods must be able to run before any of them starts. Default: all.", format="int32", minimum=1
            ),
            "queue": text("The queue of Volcano in which the job waits."),
            "priorityClass": text("The priority class of the job's PodGroup."),
            "minResources": table(
                "The resources that must be free before any pod starts. Default: the sum over minAvailable pods.",
                quantity(),
            ),
        },
    )


def _sample_set() -> Schema:
    return fields(
        "Data that every worker sees: the persistent volume claim with the name of the sample set is mounted.",
        {
            "name": text("The name of the sample set, and of its persistent volume claim.", minLength=1),
            "namespace": text("The namespace of the sample set. Default: the job's."),
            "mountPath": text("Where the workers see the data.", minLength=1),
        },
        required=["name", "mountPath"],
    )


def _pods() -> str:
    return " + ".join(f"(has(self.{role}) ? self.{role}.replicas : 0)" for role in ("worker", "ps", "heter"))


def _bounds_of(role: str) -> list[Schema]:
    elastic = f"!has(self.elastic) || !has(self.{role})"
    return [
        rule(
            f"{elastic} || !has(self.{role}.requests) || !has(self.{role}.limits) || self.{role}.requests <= "
            f"self.{role}.limits",
            f"{role}.requests, the fewest pods of an elastic job, must not be greater than {role}.limits, the most",
            at=f".{role}",
        ),
        rule(
            f"{elastic} || ((!has(self.{role}.requests) || self.{role}.requests <= self.{role}.replicas) && "
            f"(!has(self.{role}.limits) || self.{role}.replicas <= self.{role}.limits))",
            f"{role}.replicas of an elastic job must lie between {role}.requests and {role}.limits",
            at=f".{role}.replicas",
        ),
    ]


_RULES = [
    rule("has(self.worker) || !has(self.ps)", "a job with ps also needs worker: the trainers that use the servers"),
    rule("has(self.worker) || has(self.ps)", "a job needs worker: the pods that train"),
    rule(
        "!has(self.worker) || self.worker.replicas > 0",
        "worker.replicas must be at least 1; `suspend: true` pauses a job",
        at=".worker.replicas",
    ),
    rule("has(self.ps) || !has(self.heter)", "a job with heter also needs ps: only PS mode has heterogeneous workers"),
    rule(
        "!has(self.schedulingPolicy) || !has(self.schedulingPolicy.minAvailable) || "
        f"self.schedulingPolicy.minAvailable <= {_pods()}",
        "schedulingPolicy.minAvailable must not be greater than the number of all pods of the job",
        at=".schedulingPolicy.minAvailable",
    ),
    *_bounds_of("worker"),
    *_bounds_of("ps"),
]


def name_rules() -> list[Schema]:
    """They concern metadata.name, so they stand at the root of the schema."""
    return [
        rule(
            "!self.metadata.name.contains('.')",
            "metadata.name must not contain dots: it becomes a part of the pods' host names",
        ),
        rule(
            "!has(self.spec.intranet) || self.spec.intranet != 'Service' || self.metadata.name.matches('^[a-z]')",
            "metadata.name must begin with a letter if intranet is Service: it becomes a part of the Services' names",
        ),
        *(_name_fits(role) for role in ("worker", "ps", "heter")),
    ]


def _name_fits(role: str) -> Schema:
    """The last pod of a role has the longest name. The digits of its number are counted by comparing: the API server
    takes the length of a number that is turned into text for unbounded, and refuses the rule as too expensive."""
    it = f"self.spec.{role}"
    most = f"(has({it}.limits) && {it}.limits > {it}.replicas ? {it}.limits : {it}.replicas)"
    digits = f"({most} > 1000 ? 4 : {most} > 100 ? 3 : {most} > 10 ? 2 : 1)"
    return rule(
        f"!has({it}) || size(self.metadata.name) + {len(role) + 2} + {digits} <= {LONGEST_NAME}",
        f"metadata.name is too long: followed by -{role}- and a number it names pods, and such names have at most "
        f"{LONGEST_NAME} characters",
    )
