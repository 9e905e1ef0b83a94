"""Configuration of a server: its settings file, environment variables and options, and the cluster files.

This package contains the names, types and defaults of settings and reads them. It does not act on them.
"""
