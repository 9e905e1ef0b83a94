"""A cluster of many nodes with GPUs that are only pretended, behind a real server.

The scheduler, the store, the API and the portal are real, and tasks begin, print, use GPUs and end as their variables
say. For tests of the portal, for its pictures, and for looking at it with a cluster that is alive.
"""
