"""The headers of everything that a browser shows."""


def page_headers(*, form_action: str = "'self'") -> dict[str, str]:
    policy = f"default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action {form_action}"
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
