"""Write what the places need that offer this server: registry, bundle, plugin, install links. One version, one name.

python tools/publishing.py             write server.json, the plugin's manifests and the bundle's
python tools/publishing.py --check     only name what is out of date; exit code 1 if anything is
python tools/publishing.py --bundle dist                     build dist/clausewise-VERSION.mcpb and check it
python tools/publishing.py --release v1.2.3 --owner NAME     refuse a tag of another version, a stranger's repository
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tomllib
import urllib.parse
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from knowledge_mcp import __version__  # noqa: E402 - a release is made from a clone without an installation

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME: str = PROJECT["name"]
OWNER = "clausewise"
"""Owner of the repository from which releases are made; the registry lets nobody else publish below this name."""

REGISTRY_NAME = f"io.github.{OWNER}/{NAME}"
SHORT = "Standards, documents and code for AI assistants: the clause, the page, the exact words."
"""At most 100 characters: the registry takes no more."""

START: dict[str, Any] = {"command": "uvx", "args": ["--from", NAME, "knowledge-mcp"]}
_DATED = (1980, 1, 1, 0, 0, 0)
"""Each member of a bundle has this date, so that one commit gives one bundle."""


def generated() -> dict[Path, str]:
    """Return what each written file should hold, by path."""
    plugin = ROOT / "plugin" / ".claude-plugin" / "plugin.json"
    author = {"name": PROJECT["authors"][0]["name"]}
    about = {"description": SHORT, "version": __version__, "license": PROJECT["license"]}
    files: dict[Path, Any] = {
        ROOT / "server.json": _server(),
        plugin: {"name": NAME, **about, "author": author, "mcpServers": {"knowledge": START}},
        ROOT / ".claude-plugin" / "marketplace.json": {
            "name": NAME,
            "owner": author,
            "plugins": [{"name": NAME, "source": "./plugin", **about, "category": "knowledge"}],
        },
        ROOT / "deploy" / "mcpb" / "manifest.json": _manifest(author),
    }
    texts = {path: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for path, content in files.items()}
    for skill in sorted((ROOT / "src" / "knowledge_mcp" / "transports" / "mcp" / "skills").glob("*.md")):
        texts[ROOT / "plugin" / "skills" / skill.stem / "SKILL.md"] = skill.read_text(encoding="utf-8")
    texts[ROOT / "deploy" / "mcpb" / "pyproject.toml"] = (
        f'[project]\nname = "{NAME}-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{PROJECT["requires-python"]}"\ndependencies = ["{NAME}=={__version__}"]\n'
    )
    return texts


def _server() -> dict[str, Any]:
    package = {
        "registryType": "pypi",
        "identifier": NAME,
        "version": __version__,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "environmentVariables": [
            {
                "name": "DATA_PATH",
                "description": "Folder of the knowledge base; unset, the user's data folder.",
                "format": "filepath",
            }
        ],
    }
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": REGISTRY_NAME,
        "description": SHORT,
        "version": __version__,
        "packages": [package],
    }


def _manifest(author: dict[str, str]) -> dict[str, Any]:
    return {
        "manifest_version": "0.4",
        "name": NAME,
        "display_name": "Clausewise knowledge",
        "version": __version__,
        "description": SHORT,
        "long_description": PROJECT["description"] + " Documents are taken in with `knowledge-ingest`.",
        "author": author,
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", "server.py"], "env": {}},
        },
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": PROJECT["requires-python"]},
        },
    }


def cursor_link() -> str:
    """Return the address that makes Cursor add this server."""
    config = base64.b64encode(json.dumps(START).encode()).decode()
    return f"https://cursor.com/en/install-mcp?name=knowledge&config={urllib.parse.quote(config, safe='')}"


def vscode_link() -> str:
    """Return the address that makes VS Code add this server."""
    config = urllib.parse.quote(json.dumps({"type": "stdio", **START}), safe="")
    return f"https://insiders.vscode.dev/redirect/mcp/install?name=knowledge&config={config}"


def build_bundle(folder: Path) -> Path:
    """Write the bundle into a folder; returns its path. The same files give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"{NAME}-{__version__}.mcpb"
    members = [*sorted((ROOT / "deploy" / "mcpb").iterdir()), ROOT / "LICENSE"]
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in members:
            member = zipfile.ZipInfo(path.name, date_time=_DATED)
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, path.read_bytes())
    return bundle


def wrong_with_bundle(bundle: Path) -> list[str]:
    """Return what a client could not start in a bundle: members that are missing, another version."""
    with zipfile.ZipFile(bundle) as archive:
        names = set(archive.namelist())
        missing = [f"{name} is missing" for name in ("manifest.json", "pyproject.toml", "LICENSE") if name not in names]
        if missing:
            return missing
        manifest = json.loads(archive.read("manifest.json"))
        needs = tomllib.loads(archive.read("pyproject.toml").decode())["project"]["dependencies"]
    found = [] if manifest["server"]["entry_point"] in names else ["the entry point is missing"]
    if manifest["version"] != __version__ or needs != [f"{NAME}=={__version__}"]:
        found.append(f"it does not start {NAME} {__version__}")
    return found


def _release(tag: str, owner: str) -> str:
    """Return why this may not be released, or an empty text."""
    if tag.removeprefix("v") != __version__:
        return f"the tag {tag} is not the version {__version__}"
    if owner.lower() != OWNER:
        return f"releases are made by {OWNER}, not {owner}: change OWNER in tools/publishing.py to publish as another"
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    parser.add_argument("--bundle", type=Path, metavar="FOLDER", help="build the bundle there and check it")
    parser.add_argument("--release", metavar="TAG", help="check that this tag may be released; needs --owner")
    parser.add_argument("--owner", default="", help="owner of the repository that releases")
    given = parser.parse_args(arguments)
    texts = generated()
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    strict = bool(given.check or given.bundle or given.release)
    for path in stale:
        print(f"{'out of date' if strict else 'written'}: {path.relative_to(ROOT)}")
        if not strict:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], encoding="utf-8")
    wrong = [] if not strict else [f"{path.name} is out of date" for path in stale]
    if given.release and (reason := _release(given.release, given.owner)):
        wrong.append(reason)
    if given.bundle and not wrong:
        bundle = build_bundle(given.bundle)
        wrong += wrong_with_bundle(bundle)
        print(bundle)
    for each in wrong:
        print(f"wrong: {each}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
