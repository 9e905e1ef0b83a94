"""Tasks of dstack, and the resources that they ask for."""
