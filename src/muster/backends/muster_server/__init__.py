"""The backend that hands gangs on to another Muster server, one of whose clusters is a cluster here.

It belongs here what this server does as a client of the other one. What the other one does for it is in
`server/routes/handed_on` and `engine/requests/handing_on`.
"""
