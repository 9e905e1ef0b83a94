"""Sends metrics of nodes to external databases, and records of jobs to a log server.

This package contains their formats and the sending, which never blocks the server. It does not measure, which agents
do, does not serve `/metrics`, which belongs to the server, and does not keep records, which `muster.logserver` does.
"""
