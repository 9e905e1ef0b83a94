"""The web portal in a real browser, with a real server behind it."""
