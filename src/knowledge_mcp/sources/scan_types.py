"""Which files of a repository are looked at, and what media type a name means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

__all__ = [
    "DEFAULT_EXCLUDES",
    "DEFAULT_EXTENSIONS",
    "DEFAULT_NAMES",
    "EVER_EXCLUDED",
    "SPECIFIED_EXTENSIONS",
    "media_type_of",
]

SPECIFIED_EXTENSIONS = tuple(
    ".js .ts .jsx .tsx .cs .py .java .go .rs .cpp .c .h .md .txt .rst .json .yaml .yml .toml".split()
)
"""The extensions that C 6.5 names."""

_FURTHER = (
    ".mjs .cjs .mts .cts .pyi .pyx .cc .cxx .hpp .hh .hxx .inl .m .mm .kt .kts .scala .sc .swift .rb .rake .gemspec "
    ".php .sh .bash .zsh .lua .pl .pm .ex .exs .erl .hrl .hs .clj .cljs .cljc .dart .r .jl .zig .groovy .gradle .fs "
    ".fsx .f90 .f95 .f03 .f .for .ps1 .psm1 .vb .proto .graphql .gql .tf .hcl .cmake .vue .svelte .sql .html .htm .css "
    ".scss .less .xml .xsd .ini .cfg .conf .properties .mk .mdx .markdown .dockerfile"
)
DEFAULT_EXTENSIONS = (*SPECIFIED_EXTENSIONS, *_FURTHER.split())
"""Extensions looked at unless others are chosen: the specified ones, and more languages."""

DEFAULT_NAMES = tuple(
    "Dockerfile Containerfile Makefile GNUmakefile CMakeLists.txt Jenkinsfile Rakefile Gemfile Vagrantfile Procfile "
    "README LICENSE CHANGELOG CONTRIBUTING".split()
)
"""Names without an extension of their own, looked at unless extensions are chosen."""

DEFAULT_EXCLUDES = tuple(
    "node_modules/** .git/** dist/** build/** bin/** obj/** *.min.js *.min.css package-lock.json yarn.lock".split()
)
"""The patterns that C 6.5 leaves out."""

EVER_EXCLUDED = tuple(
    "node_modules/ bower_components/ __pycache__/ .venv/ .tox/ .nox/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .hg/ "
    ".svn/ .terraform/ .idea/ .gradle/ npm-shrinkwrap.json pnpm-lock.yaml *.map".split()
)
"""Further patterns left out, at any depth: what tools write."""

_TYPES: Mapping[str, str] = {
    "text/x-python": ".py .pyi .pyx",
    "text/javascript": ".js .jsx .mjs .cjs",
    "text/x-typescript": ".ts .mts .cts",
    "text/x-tsx": ".tsx",
    "text/x-java": ".java",
    "text/x-go": ".go",
    "text/x-rust": ".rs",
    "text/x-c": ".c .h",
    "text/x-c++": ".cpp .cc .cxx .hpp .hh .hxx .inl",
    "text/x-csharp": ".cs",
    "text/x-ruby": ".rb .rake .gemspec",
    "text/x-php": ".php",
    "text/x-shellscript": ".sh .bash .zsh",
    "text/x-kotlin": ".kt .kts",
    "text/x-scala": ".scala .sc",
    "text/x-lua": ".lua",
    "text/x-swift": ".swift",
    "text/x-objective-c": ".m .mm",
    "text/x-perl": ".pl .pm",
    "text/x-elixir": ".ex .exs",
    "text/x-erlang": ".erl .hrl",
    "text/x-haskell": ".hs",
    "text/x-clojure": ".clj .cljs .cljc",
    "text/x-dart": ".dart",
    "text/x-r": ".r",
    "text/x-julia": ".jl",
    "text/x-zig": ".zig",
    "text/x-groovy": ".groovy .gradle",
    "text/x-fsharp": ".fs .fsx",
    "text/x-fortran": ".f90 .f95 .f03 .f .for",
    "text/x-powershell": ".ps1 .psm1",
    "text/x-vb": ".vb",
    "text/x-protobuf": ".proto",
    "text/x-graphql": ".graphql .gql",
    "text/x-terraform": ".tf .hcl",
    "text/x-cmake": ".cmake",
    "text/x-vue": ".vue",
    "text/x-svelte": ".svelte",
    "text/x-sql": ".sql",
    "text/x-dockerfile": ".dockerfile",
    "text/x-makefile": ".mk",
    "text/x-ini": ".ini .cfg .conf .properties",
    "text/x-rst": ".rst",
    "text/markdown": ".md .mdx .markdown",
    "application/json": ".json",
    "application/yaml": ".yaml .yml",
    "application/toml": ".toml",
    "application/xml": ".xml .xsd",
    "text/html": ".html .htm",
    "text/css": ".css .scss .less",
}
_BY_EXTENSION = {extension: name for name, extensions in _TYPES.items() for extension in extensions.split()}
_BY_NAME = {
    "dockerfile": "text/x-dockerfile",
    "containerfile": "text/x-dockerfile",
    "makefile": "text/x-makefile",
    "gnumakefile": "text/x-makefile",
    "cmakelists.txt": "text/x-cmake",
    "jenkinsfile": "text/x-groovy",
    "rakefile": "text/x-ruby",
    "gemfile": "text/x-ruby",
    "vagrantfile": "text/x-ruby",
}


def media_type_of(name: str) -> str:
    """Tell the media type of a source file by its name, `text/plain` where it says nothing."""
    path = PurePosixPath(name.lower())
    return _BY_NAME.get(path.name) or _BY_EXTENSION.get(path.suffix, "text/plain")
