"""Where figures of nodes are pushed to: databases that others run and draw from.

Belongs here: their formats, and sending without ever holding anybody up. Does not belong here: measuring, which agents
do, and `/metrics`, which is asked for and belongs to the server.
"""
