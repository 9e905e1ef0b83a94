"""What the processes of a task stand at: collected by hand or by an alert, and kept with the job.

Belongs here: the program that looks, running it in tasks, and keeping what it said. Does not belong here: when a job
hangs (`domain`), and who may ask (`server`).
"""
