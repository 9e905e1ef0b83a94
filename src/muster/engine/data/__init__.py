"""Bytes that jobs read and leave behind: packages, logs, outputs, and the files of a cluster's folders.

Belongs here: reading, collecting and serving them. Does not belong here: what their arrival means for a job.
"""
