#!/usr/bin/env bash
# Install the foreign clients of tools/node (exact versions, from its lock file) into .node/clients, and print that folder.
# Does nothing where they are installed already. Exit 1 with a sentence on stderr where that is not possible.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="$root/.node/clients"

node="$("$root/tools/node22.sh")"
mkdir -p "$target"
cp "$root"/tools/node/* "$target"/
if ! cmp -s "$target/package-lock.json" "$target/node_modules/.installed-lock"; then
    # npm by the same node: the one beside it where a Python wheel brought both, else the system's.
    wheel_npm="$(dirname "$node")/../lib/node_modules/npm/bin/npm-cli.js"
    if [ -f "$wheel_npm" ]; then
        npm=("$node" "$wheel_npm")
    elif command -v npm >/dev/null; then
        npm=(npm)
    else
        echo "npm is needed to install the foreign clients; it comes with Node.js" >&2
        exit 1
    fi
    PATH="$(dirname "$node"):$PATH" "${npm[@]}" ci --prefix "$target" --ignore-scripts --no-audit --no-fund --silent >&2
    cp "$target/package-lock.json" "$target/node_modules/.installed-lock"
fi
echo "$target"
