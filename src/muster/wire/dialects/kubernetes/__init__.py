"""Jobs and Pods of Kubernetes itself, and what every job made of pod templates has in common.

Belongs here: metadata, containers, variables, volumes and policies as Kubernetes reads them. Does not belong here: the
kinds of other controllers, which have packages of their own.
"""
