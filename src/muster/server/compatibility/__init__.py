"""The REST APIs of other systems, for clients that were made for them. The setting `compatibility` turns each on;
MLflow's tracking is always answered.

A package for each: routes that speak the other system's paths, fields and errors, and call the same use cases as
Muster's own routes, with the same checks of rights. The words of the other system stay in its package.
"""

from collections.abc import Callable, Mapping

from fastapi import FastAPI

from muster.server.compatibility import openpai, paddlecloud

COMPATIBILITY: Mapping[str, Callable[[FastAPI], None]] = {
    "openpai": openpai.add_routes,
    "paddlecloud": paddlecloud.install,
}
"""What adds the routes of each of them to the application, by the name in the setting."""
