"""The core of the operator: `reconcile.plan` and what a plan consists of, that is, manifests, status and conditions. It
does no IO and reads no clock."""
