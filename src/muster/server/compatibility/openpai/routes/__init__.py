"""The routes of OpenPAI's REST API, each module with one subject. Paths are relative to `/api/v2`, or to `/api/v1`."""
