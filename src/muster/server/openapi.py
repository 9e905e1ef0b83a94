"""The OpenAPI document: FastAPI's, with Muster's errors in place of the framework's, and without redundant titles.

This module alone says which errors a call can be refused with, and a test checks the answers against it.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from muster.api.problems import ProblemOut
from muster.server.problems import MEDIA_TYPE
from muster.wire.requests import SubmitIn
from muster.wire.response_models import response_model

_METHODS = ("get", "put", "post", "delete", "patch")
_TEXTS = {
    400: "The request is malformed: a parameter or the body cannot be parsed.",
    401: "You are not logged in, or the login has expired.",
    403: "You may not do this: the object belongs to somebody else, or the call is for admins.",
    404: "It does not exist, or you may not see it.",
    409: "The request conflicts with the present state.",
    413: "The request is too large.",
    422: "The request is invalid; the answer lists all problems.",
    426: "The call is a WebSocket, and the request does not ask for one.",
    429: "You have or send too much at once; try again after a while.",
    501: "The cluster does not offer this capability.",
    503: "A part of the platform does not answer; try again later.",
}
_ALWAYS = {401, 503}
_OPEN_TO_ALL = {"log_in", "login_ways", "begin_device", "finish_device", "get_archive"}
"""They need no token: they begin with people whom nobody knows yet, or check a signature."""
_NEEDS_CAPABILITY = {
    "job_logs",
    "raw_log",
    "log_lines",
    "search_logs",
    "exec_in_task",
    "list_outputs",
    "get_output",
    "list_environments",
    "test_environment",
    "list_folders",
    "list_files",
    "file_facts",
    "file_content",
    "file_digest",
    "file_usage",
    "upload_status",
    "put_file",
    "abort_upload",
    "make_folder",
    "move_file",
    "copy_file",
    "remove_file",
    "get_node_usage",
    "add_node",
    "remove_node",
    "cordon_node",
    "uncordon_node",
    "drain_node",
    "reconnect_node",
    "exec_on_node",
}
_REFUSALS: dict[str, set[int]] = {
    "submit": {403, 409, 413},
    "submit_bulk": {403, 409, 413},
    "submit_sweep": {403, 409, 413, 429},
    "list_members": {403},
    "stop_sweep": {403, 409},
    "list_runs": {403, 404},
    "best_runs": {403, 404},
    "get_stacks": {403},
    "collect_stacks": {403, 409, 413, 429},
    "register_model": {403, 404, 409, 413},
    "remove_model": {403, 409},
    "get_model_file": {404},
    "import_jobs": {403, 409, 413},
    "hand_on": {403, 409, 413},
    "stop_tasks": {403, 409, 413},
    "send_test_notice": {409, 429},
    "get_archive": {403},
    "get_spec": {403},
    "get_spec_diff": {403, 409},
    "get_task_environment": {403, 409},
    "get_explanation": {403, 409},
    "kill": {403, 409, 413},
    "hold": {403, 409},
    "resume": {403, 409},
    "bump": {403, 409, 413},
    "move": {403, 409, 413},
    "change": {403, 409, 413},
    "retry": {403, 409, 413},
    "delete": {403, 409},
    "list_quotas": {403, 404},
    "server_log": {403, 404},
    "server_health": {403},
    "check_writing": {429},
    "get_schedule": {404, 429},
    "start_simulation": {404, 413, 429},
    "list_cluster_files": {403},
    "get_cluster_file": {403},
    "put_cluster_file": {403, 409, 413},
    "remove_cluster_file": {403, 409},
    "list_tokens": {403},
    "job_logs": {403},
    "live": {403, 404},
    "list_history": {404},
    "raw_log": {403},
    "log_lines": {403},
    "search_logs": {403},
    "exec_in_task": {403, 426},
    "attach": {403, 426},
    "port_forward": {403, 426},
    "list_outputs": {403},
    "get_output": {403},
    "upload_piece": {409, 413},
    "list_environments": {404, 409},
    "list_packages": {404, 409},
    "test_environment": {404, 409, 413},
    **{name: {403, 409} for name in ("list_files", "file_facts", "file_content", "file_digest", "file_usage")},
    **{name: {403, 409} for name in ("upload_status", "abort_upload", "remove_file")},
    **{name: {403, 409, 413} for name in ("put_file", "make_folder", "move_file", "copy_file")},
    "get_node": {409},
    "get_node_usage": {409},
    "cordon_node": {403, 409, 413},
    "uncordon_node": {403, 409},
    "drain_node": {403, 409, 413},
    "reconnect_node": {403, 409},
    "exec_on_node": {403, 409, 413},
    "log_in": {403, 404, 413},
    "list_identities": {403},
    "link_identity": {403, 409, 413},
    "unlink_identities": {403},
    "begin_device": {404},
    "finish_device": {403, 404, 413},
    **{name: {429} for name in ("list_handed_on", "wait_for_end", "log_chunk")},
    "add_user": {403, 409, 413},
    "change_user": {403, 409, 413},
    "remove_user": {403, 409},
    "create_token": {403, 404, 413},
    "set_secret": {403, 409, 413},
    "remove_secret": {403},
    "publish_template": {403, 409, 413},
    "remove_template": {403},
}
_TAGS = [
    {"name": "jobs", "description": "Submit, list, show and change jobs."},
    {"name": "logs and events", "description": "What tasks print and what happened, also live."},
    {"name": "sweeps", "description": "Many jobs that differ in their params, as one object."},
    {"name": "models", "description": "Outputs of jobs that are kept under a name, in versions."},
    {"name": "outputs", "description": "Files that were collected from tasks."},
    {"name": "clusters and nodes", "description": "Where jobs run, and what they use there."},
    {"name": "files", "description": "The folders that a cluster shows, and their content."},
    {"name": "alerts and notices", "description": "What rules have found, silences, and what users are told."},
    {"name": "packages", "description": "Code, uploaded once under its digest."},
    {"name": "accounts", "description": "Users and tokens."},
    {"name": "secrets", "description": "Values that jobs get by name. They are written, and never read back."},
    {"name": "simulations", "description": "Past jobs, replayed under other policies or with other GPUs."},
    {"name": "templates", "description": "Job folders that users share."},
    {"name": "system", "description": "The server itself."},
]
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token: from `POST /login` or `POST /tokens`."},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "muster_session",
        "description": "For browsers. Calls that change something also need the header `X-Muster-Request: 1`.",
    },
}


def install(app: FastAPI) -> None:
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=_TAGS
        )
        for path in found["paths"].values():
            for method in _METHODS:
                if method in path:
                    _tidy(path[method])
        components = found["components"]
        components["securitySchemes"] = _SECURITY
        components["responses"] = {f"Problem{status}": _problem(text) for status, text in _TEXTS.items()}
        schemas = components["schemas"]
        schemas.update(_schemas_of_problems())
        schemas["SubmitIn"] = SubmitIn.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        components["schemas"] = {name: _untitled(schemas[name]) for name in sorted(schemas)}
        app.openapi_schema = found
    return app.openapi_schema


def _tidy(operation: dict[str, Any]) -> None:
    statuses = _ALWAYS | _REFUSALS.get(operation["operationId"], set())
    if operation["operationId"] in _NEEDS_CAPABILITY:
        statuses = statuses | {501}
    parameters = operation.get("parameters", ())
    if parameters or "requestBody" in operation:
        statuses = statuses | {400, 422}
    if any(parameter["in"] == "path" for parameter in parameters):
        statuses = statuses | {404}
    for parameter in parameters:
        parameter["schema"] = _untitled(parameter["schema"])
    answers = {code: answer for code, answer in operation["responses"].items() if int(code) < 400}
    for answer in answers.values():
        if answer["description"] == "Successful Response":
            answer["description"] = "Done."
    refusals = {str(code): {"$ref": f"#/components/responses/Problem{code}"} for code in sorted(statuses)}
    operation["responses"] = answers | refusals
    if operation["operationId"] not in _OPEN_TO_ALL:
        operation["security"] = [{"bearer": []}, {"session": []}]


def _problem(text: str) -> dict[str, Any]:
    return {"description": text, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}}


def _schemas_of_problems() -> dict[str, Any]:
    schema = response_model(ProblemOut).model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "ProblemOut": schema}


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Removes titles that only repeat the name of a key."""
    kept = {key: value for key, value in schema.items() if key != "title" or not isinstance(value, str)}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _untitled(inner) for name, inner in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _untitled(kept[key])
    if "anyOf" in kept:
        kept["anyOf"] = [_untitled(inner) for inner in kept["anyOf"]]
    return kept
