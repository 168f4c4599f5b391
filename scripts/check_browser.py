#!/usr/bin/env python3
"""Opens every page of a site in a browser, at the width of a telephone and of a desk: check_browser.py SITE [PICTURES].

Chromium loads each page in a frame of 390 and of 1280 pixels. A page fails that is empty, whose pictures do not
show, or that is wider than its frame, so that a reader would have to scroll to the side. With a folder PICTURES, screenshots of some pages are
left there to be looked at. The C++ reference is the work of Doxygen: it is only loaded.
"""

from __future__ import annotations

import functools
import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

WIDTHS = (390, 1280)
PATIENCE = 300  # seconds
LOOKED_AT = ("index.html", "gallery/index.html", "gallery/counts.html", "docs/comparison.html", "docs/python.html", "docs/sites.html", "reference/python.html")

# Runs in the browser: one frame after the other, and what is wrong with it as text.
SCRIPT = """<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES, widths = WIDTHS, wrong = [];
function look(page, width) {
  return new Promise(done => {
    const frame = document.createElement('iframe');
    frame.style.cssText = `width:${width}px;height:800px;border:0`;
    frame.onload = () => {
      try {
        const text = frame.contentDocument, root = text.documentElement;
        if (!text.body || !text.body.innerText.trim()) wrong.push(`${page}: empty`);
        else if (!page.startsWith('api/') && root.scrollWidth > width + 1) wrong.push(`${page}: ${root.scrollWidth} pixels wide in ${width}`);
        for (const picture of text.images)
          if (picture.complete && !picture.naturalWidth) wrong.push(`${page}: picture ${picture.getAttribute('src')} does not show`);
      } catch (error) { wrong.push(`${page}: ${error}`); }
      frame.remove();
      done();
    };
    frame.src = '/' + page;
    document.body.append(frame);
  });
}
(async () => {
  for (const page of pages) for (const width of widths) await look(page, width);
  await fetch('/-found', {method: 'POST', body: JSON.stringify({looked: pages.length, wrong})});
})();
</script>"""

FRAME = '<!doctype html><body style="margin:0"><iframe src="/{page}" style="border:0;width:{width}px;height:{height}px"></iframe>'


class Served(SimpleHTTPRequestHandler):
    """The site, and pages of our own beside it."""

    own: dict[str, str] = {}
    found: queue.Queue[str] = queue.Queue()

    def do_POST(self) -> None:
        self.found.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        content = self.own.get(self.path)
        if content is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def command(browser: str, profile: str, *arguments: str) -> list[str]:
    return [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}", *arguments]


def look(browser: str, profile: str, address: str) -> dict[str, Any]:
    """What the script found, which it sends when it has seen all pages."""
    process = subprocess.Popen(command(browser, profile, "--remote-debugging-port=0", address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found: dict[str, Any] = json.loads(Served.found.get(timeout=PATIENCE))
        return found
    except queue.Empty:
        raise SystemExit(f"check_browser: the browser did not come to the end of the pages within {PATIENCE} s") from None
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).is_dir():
        raise SystemExit("check_browser: expected the folder of a site, and perhaps one for pictures")
    site = Path(sys.argv[1]).resolve()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("check_browser: there is no chromium; apt-get install chromium")
    pages = [str(path.relative_to(site)) for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    # Of the reference of Doxygen the first pages stand for all.
    pages = [page for page in pages if not page.startswith("api/")] + ["api/index.html", "api/files.html", "api/annotated.html"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Served, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    Served.own["/-check"] = SCRIPT.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    with tempfile.TemporaryDirectory() as profile:
        result = look(browser, profile, f"{address}/-check")
        if len(sys.argv) == 3:
            pictures = Path(sys.argv[2])
            pictures.mkdir(parents=True, exist_ok=True)
            for page in LOOKED_AT:
                for width, height in ((390, 1500), (1280, 1000)):
                    Served.own["/-frame"] = FRAME.format(page=page, width=width, height=height)
                    name = page.removesuffix(".html").replace("/", "-")
                    picture = pictures / f"{name}-{width}.png"
                    # A window has 500 pixels at least; the frame within it has the width that counts.
                    size = f"--window-size={max(width, 500)},{height}"
                    shot = command(browser, profile, f"--screenshot={picture}", size, "--timeout=20000", f"{address}/-frame")
                    subprocess.run(shot, check=True, capture_output=True, timeout=PATIENCE)
    for mistake in result["wrong"]:
        print(f"check_browser: {mistake}", file=sys.stderr)
    if result["wrong"]:
        raise SystemExit(1)
    print(f"{result['looked']} pages at {' and '.join(map(str, WIDTHS))} pixels: none empty, none too wide, all pictures there")


if __name__ == "__main__":
    main()
