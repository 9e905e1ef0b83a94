"""Templates in answers."""

from muster.api.templates import TemplateOut
from muster.domain.templates import Template
from muster.lib.clock import iso


def template_view(template: Template) -> TemplateOut:
    """Without files."""
    return {
        "name": template.name,
        "version": template.version,
        "author": template.author,
        "group": template.group,
        "everyone": template.everyone,
        "description": template.description,
        "sizeBytes": template.size_bytes,
        "createdAt": iso(template.created_at),
    }
