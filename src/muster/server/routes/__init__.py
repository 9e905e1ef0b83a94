"""The routes, one module a subject. Thin: read the request, check the right, call the engine, show the result."""
