"""The entities of the REST API: one typed dictionary for each object that the server answers and the client reads.

The keys are those of the JSON. A string in `Annotated` describes its key in the OpenAPI document, generated from
these types. Belongs here: the shape of what is answered, with the standard library alone. Does not belong here: logic
(`wire` builds these dictionaries from domain values, `client` reads them) and what callers send (`wire` validates it).
"""
