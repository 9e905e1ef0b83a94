"""What the server runs in a pod beside a task, for as long as it asks something there. It is sent over the connection,
so that neither the image nor the cluster has to hold anything of it.
"""
