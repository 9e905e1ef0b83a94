"""Editing of job specs in the user's editor."""
