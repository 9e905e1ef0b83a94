"""A pool of machines reached by SSH: one connection a node, and over it the agent, which brings itself along."""
