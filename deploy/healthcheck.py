"""Ask a server of this container whether it lives: exit code 0 if it answers 200 within three seconds, else 1.

Standard library only, no shell and no curl, so that the image needs neither.

    python healthcheck.py http://127.0.0.1:8000/health
"""

from __future__ import annotations

import sys
from urllib.request import ProxyHandler, build_opener

SECONDS = 3.0


def main(arguments: list[str]) -> int:
    """Ask the one address given."""
    if len(arguments) != 1 or not arguments[0].startswith("http://127.0.0.1:"):
        sys.stderr.write("usage: healthcheck.py http://127.0.0.1:PORT/health\n")
        return 1
    direct = build_opener(ProxyHandler({}))  # the proxies of the environment are for the outside
    try:
        with direct.open(arguments[0], timeout=SECONDS) as answer:
            return 0 if answer.status == 200 else 1
    except OSError as exc:
        sys.stderr.write(f"{arguments[0]}: {exc}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
