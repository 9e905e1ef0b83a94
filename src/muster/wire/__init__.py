"""What travels: the job spec as people write it, what callers of the REST API send, and how its answers are built.

Belongs here: file formats, field names, their translation to and from the domain. Does not belong here: the entities
that the API answers (api), rules about what may run where (engine), HTTP itself (server).
"""
