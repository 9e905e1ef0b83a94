"""`muster operator`: a Kubernetes controller for the PaddleJob resource (`batch.paddlepaddle.org/v1`).

A pure core (`job`, `scheduling`, `planning`) and a thin shell (`control`, `process`). `planning.reconcile.plan(job,
world, now)` says what is to be done; it does no IO and reads no clock. `control.controller` watches, calls it and
carries out what it says. The operator needs no Muster server, and shares `launch` with the rest: the variables of a pod
and those of a local process come from the same function.
"""
