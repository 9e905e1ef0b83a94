"""The log server, `muster logserver`: it takes the records of jobs from any number of servers and keeps each of them
once.

What belongs here: the file of JSON lines, the index beside it, the HTTP interface to both, and passing records on to
another program. It knows nothing of the engine or of the database of a server; what servers send is described in
`records`. The sending side is `muster.exporters.log_server`.
"""
