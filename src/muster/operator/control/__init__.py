"""The shell of the operator: it watches, asks the core for a plan and carries it out. What is to be done for a job is
not decided here."""
