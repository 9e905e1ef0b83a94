"""The pages that a browser shows between the identity provider and Muster's own page. They work without scripts."""

from html import escape

from fastapi.responses import HTMLResponse

from muster.domain.errors import MusterError
from muster.engine.requests.sign_in import CommandLogin
from muster.lib.pkce import short_code
from muster.server.page_headers import page_headers
from muster.server.problems import problem_of

_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title} — Muster</title>
  <link rel="stylesheet" href="/portal/sign-in.css">
</head>
<body>
  <header><h1><a href="/">Muster</a></h1></header>
  <main>
    <h2>{title}</h2>
{content}
  </main>
</body>
</html>
"""


def refusal_page(error: MusterError) -> HTMLResponse:
    hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
    content = (
        f'    <p role="alert">{escape(error.message)}</p>\n    {hint}\n    <p><a href="/">Back to the login</a></p>'
    )
    return _page("You are not logged in", content, problem_of(error).status_code)


def confirmation_page(name: str, command: CommandLogin, asked: str) -> HTMLResponse:
    """Asks whether the person wants what the login is for: anybody could have sent them the link that began it."""
    content = f"""    <p>The <code>muster</code> command asks for a login as <strong>{escape(name)}</strong>.</p>
    <p>Continue only if you have just run <code>muster login</code> yourself, and if it shows this code:</p>
    <p><strong id="code">{escape(short_code(command.challenge))}</strong></p>
    <form method="post" action="/api/v1/login/sso/confirm?asked={escape(asked)}">
      <button type="submit">Log in</button>
    </form>
    <p><a href="/">No, I did not ask for this</a></p>"""
    allowed = "'self'" if command.port is None else f"'self' http://127.0.0.1:{command.port}"
    return _page("Log in on the command line", content, form_action=allowed)


def code_page(code: str) -> HTMLResponse:
    content = f"""    <p>Paste this code into the <code>muster login</code> that waits for it, within a few minutes.</p>
    <p><code id="code">{escape(code)}</code></p>"""
    return _page("Log in on the command line", content)


def _page(title: str, content: str, status: int = 200, form_action: str = "'self'") -> HTMLResponse:
    headers = page_headers(form_action=form_action) | {"Cache-Control": "no-store"}
    return HTMLResponse(_PAGE.format(title=escape(title), content=content), status, headers)
