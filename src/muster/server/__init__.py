"""The way in over HTTP: the REST API, live streams and the page.

Belongs here: routes, authentication, rights, errors as problem+json. Does not belong here: what happens to a job
(engine), SQL (stores), the entities of the API (api) and how they are built (wire).
"""
