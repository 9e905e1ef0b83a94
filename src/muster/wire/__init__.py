"""What travels: the job spec as people write it and the REST schemas, as pydantic models.

Belongs here: file formats, field names, their translation to and from the domain. Does not belong here: rules about
what may run where (engine), HTTP itself (server).
"""
