"""Receivers on this machine: servers that one file deploys, each in a folder of its own below the deployment folder.

Here are their folders, their processes and the supervisor that keeps them running. The file that deploys them is read
in `settings`; what a receiver does is the business of `server` and `bootstrap`.
"""
