"""The server's own machine as a cluster of one node. The agent is a child process, connected by a pipe."""
