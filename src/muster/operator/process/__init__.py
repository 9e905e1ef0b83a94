"""The operator as a process: arguments, leader election, health probes. It knows nothing of jobs."""
