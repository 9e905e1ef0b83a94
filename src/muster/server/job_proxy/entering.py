"""The page by which a browser enters the host of a job, with a link that is good once.

The ticket is behind `#`, where no server, log or preview of a link sees it. The page sends it in the body of a
request, and gets the cookie for this job and port.
"""

import json
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from muster.domain.errors import MusterError
from muster.server.job_hosts import JobPort
from muster.server.job_sessions import COOKIE, SESSION_S, Entry, ProxySessions
from muster.server.page_headers import page_headers
from muster.server.problems import problem, problem_of

FOLDER = "/.muster/"
ENTER = f"{FOLDER}enter"
SCRIPT = f"{FOLDER}enter.js"
_MOST_BYTES = 4096
_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title} — Muster</title>
{script}</head>
<body>
  <h1>{title}</h1>
  <p id="said" role="status">{said}</p>
{rest}</body>
</html>
"""
_OPENS = """const [ticket, path] = location.hash.slice(1).split("&").map(decodeURIComponent);
history.replaceState(null, "", location.pathname);
const said = (text) => { document.getElementById("said").textContent = text; };
const here = (path) => {
  const target = URL.canParse(path, location.origin) ? new URL(path, location.origin) : null;
  return target?.origin === location.origin ? target.href : "/";
};
const enter = async () => {
  const answer = await fetch("/.muster/enter", { method: "POST", body: JSON.stringify({ ticket }) });
  if (answer.ok) location.replace(here(path));
  else said((await answer.json()).detail);
};
enter().catch(() => said("The server cannot be reached. Open the link again."));
"""


def enter_page() -> Response:
    script = f'  <script type="module" src="{SCRIPT}"></script>\n'
    return _page("Opening the job", "One moment, please.", script=script)


def enter_script() -> Response:
    return Response(_OPENS, media_type="text/javascript", headers=page_headers())


def refusal(error: MusterError, again: str) -> Response:
    """`again` is the address of Muster's own page that opens the job again, if it is known."""
    said = f"{error.message}. {error.hint}" if error.hint else error.message
    rest = f'  <p><a href="{escape(again)}">Open it again in Muster</a></p>\n' if again else ""
    return _page("This page of a job cannot be shown", said, problem_of(error).status_code, rest=rest)


async def entered(request: Request, sessions: ProxySessions, target: JobPort) -> tuple[Response, Entry | None]:
    """The answer, and what the ticket was for if it was good."""
    entry = sessions.taken(await _ticket(request), target)
    if entry is None:
        detail = "this link was used already, or has expired; open the job again in Muster, or with `muster open`"
        return problem(403, "forbidden", detail), None
    response = Response(status_code=204)
    is_secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, sessions.cookie(entry), max_age=int(SESSION_S), httponly=True, samesite="lax", secure=is_secure
    )
    return response, entry


async def _ticket(request: Request) -> str:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MOST_BYTES:
            return ""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    ticket = said.get("ticket") if isinstance(said, dict) else None
    return ticket if isinstance(ticket, str) else ""


def _page(title: str, said: str, status: int = 200, script: str = "", rest: str = "") -> Response:
    headers = page_headers() | {"Cache-Control": "no-store"}
    content = _PAGE.format(title=escape(title), said=escape(said), script=script, rest=rest)
    return HTMLResponse(content, status, headers)
