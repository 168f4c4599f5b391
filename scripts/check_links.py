#!/usr/bin/env python3
"""No dead link in a site of files: check_links.py SITE.

Every link of every HTML page must lead to a file of the site, and to an anchor that this file has. Nothing may be loaded from
elsewhere: the site works without a network. Links to other sites are counted, not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Anchors of a page, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value for name, value in attrs if value is not None}
        self.anchors.update(known[name] for name in ("id", "name") if name in known)
        if tag in ("a", "area") and "href" in known:
            self.links.append(known["href"])
        if "src" in known:
            self.loads.append(known["src"])
        if tag == "link" and known.get("rel") not in ("canonical", "prev", "next", "alternate") and "href" in known:
            self.loads.append(known["href"])


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8", errors="replace"))
    return page


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        raise SystemExit("check_links: expected one argument, the folder of a site")
    site = Path(sys.argv[1]).resolve()
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    mistakes: list[str] = []
    inside = outside = 0
    for path, page in pages.items():
        # The page that a server shows for what is not there has addresses from the root, wherever that is.
        if path == site / "404.html":
            continue
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            where = f"{path.relative_to(site)}: {link}"
            if parts.scheme in ("data", "javascript", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                outside += 1
                if link in page.loads:
                    mistakes.append(f"{where}: loaded from elsewhere")
                continue
            inside += 1
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to /= "index.html"
            if not to.exists():
                mistakes.append(f"{where}: there is no such file")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors:
                mistakes.append(f"{where}: there is no such anchor")
    for mistake in sorted(set(mistakes)):
        print(f"check_links: {mistake}", file=sys.stderr)
    if mistakes:
        raise SystemExit(1)
    print(f"{len(pages)} pages, {inside} links within the site, none dead; {outside} to other sites")


if __name__ == "__main__":
    main()
