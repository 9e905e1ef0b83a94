"""What an operator for PaddleJobs costs: writes to the API server, CPU, memory and time, on nodes that only pretend.

One real API server with etcd, scheduler and controller manager; KWOK in place of the nodes. Any operator that serves
`batch.paddlepaddle.org/v1` can be measured, as a command or as what a manifest installs.
"""
