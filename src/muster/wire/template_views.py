"""Templates in answers."""

from muster.api.templates import TemplateOut
from muster.domain.templates import Template
from muster.lib.clock import iso
from muster.templates.catalogue import DESCRIPTIONS, template_files


def built_in_view(name: str) -> TemplateOut:
    """Describes a built-in template without its files."""
    return {
        "name": name,
        "version": 0,
        "author": "",
        "group": "",
        "everyone": True,
        "description": DESCRIPTIONS[name],
        "sizeBytes": sum(len(text.encode()) for text in template_files(name).values()),
        "createdAt": None,
        "builtIn": True,
    }


def template_view(template: Template) -> TemplateOut:
    """Describes a template without its files."""
    return {
        "name": template.name,
        "version": template.version,
        "author": template.author,
        "group": template.group,
        "everyone": template.everyone,
        "description": template.description,
        "sizeBytes": template.size_bytes,
        "createdAt": iso(template.created_at),
        "builtIn": False,
    }
