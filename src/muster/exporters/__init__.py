"""Sends metrics of nodes to external databases.

This package contains their formats and the sending, which never blocks the server. It does not measure, which agents
do, and does not serve `/metrics`, which belongs to the server.
"""
