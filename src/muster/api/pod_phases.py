"""What clients that know pods are shown for the states of tasks."""

PHASES = {
    "Launching": "Pending",
    "Waiting": "Pending",
    "Preparing": "Pending",
    "Running": "Running",
    "Stopping": "Running",
    "Succeeded": "Succeeded",
    "Failed": "Failed",
    "Stopped": "Failed",
    "Lost": "Failed",
}
"""The phase of the pod for the state of the task."""
