"""One short name per GPU model, whatever its driver calls it: "NVIDIA A100-SXM4-80GB" is an A100."""

from __future__ import annotations

import re

# Words that name the maker, the line, the board, its memory or its connector, but not the model.
_NOISE = re.compile(
    r"(?:NVIDIA|AMD|ATI|Tesla|GeForce|Quadro|Instinct|Radeon|Corporation|Graphics|GPU|Generation|Laptop|Max-Q"
    r"|OAM|NVL\d*|PG\d+\w*|SXM\d*|PCI-?e|HBM\d\w*|\d+(?:\.\d+)?\s?Gi?B|MIG)\Z",
    re.IGNORECASE,
)
_RENAMED = (
    (re.compile(r"RTX(A\d{4})"), r"\1"),  # "NVIDIA RTX A6000" is known as A6000
    (re.compile(r"(MI\d+\w*)/.*"), r"\1"),  # "MI250X/MI250"
)


def model_name(product: str) -> str:
    words = re.split(r"[\s_-]+", re.sub(r"Max-Q|\(.*?\)", " ", product.strip()))
    kept = [word for word in words if word and not _NOISE.match(word)]
    name = "".join(kept)
    for pattern, replacement in _RENAMED:
        name = pattern.sub(replacement, name)
    return name or product.strip()
