"""What the web portal costs a browser: `python -m bench.portal [--minutes N]`."""
