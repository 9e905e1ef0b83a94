"""Jobs of OpenPAI, of protocol 2 (YAML) and protocol 1 (JSON).

Belongs here: their templates, prerequisites, plugins, secrets and storages, and the `PAI_*` variables that tasks get.
Does not belong here: OpenPAI's REST API (server.compatibility.openpai).
"""
