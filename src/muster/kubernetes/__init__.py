"""What the operator and the Kubernetes backend share: the connection to an API server, the resources and their label
names, times and taints, and a cache that is kept up to date by a watch.

Objects are plain dictionaries, as the API server sends them, so that pod templates pass through whole and no version of
the server is excluded. Nothing here knows what a PaddleJob or a gang means.
"""
