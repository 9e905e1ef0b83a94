"""Tasks of SkyPilot, and the resources that they ask for."""
