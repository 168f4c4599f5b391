"""What MkDocs does not do by itself."""

import re
from typing import Any

ROLE = re.compile(r":(?:class|func|meth|attr|mod):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name things by roles of Sphinx; here the code alone is shown."""
    return ROLE.sub("", html)
