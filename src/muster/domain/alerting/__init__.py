"""Alerts: rules, what they are judged by, what became of them, and who is told."""
