"""The way in over HTTP: REST API, live streams, the page.

Belongs here: routes, authentication, rights, errors as problem+json. Does not belong here: what happens to a job
(engine), SQL (stores), shapes (wire).
"""
