"""Adapters for identity providers: OpenID Connect and LDAP.

They prove who somebody is. Accounts, rights and sessions do not belong here. Nothing here is imported unless a provider
is configured, so that a server without one does not load its libraries.
"""
