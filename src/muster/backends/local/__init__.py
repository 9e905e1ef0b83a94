"""The machine the server runs on, as a cluster of one node: the agent is a child, its line a pipe."""
