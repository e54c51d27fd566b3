"""`knowledge backup` and `knowledge restore`: everything that cannot be made again, in one file, while it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_mcp.cli.session import AsJson, ConfigFile, Verbose, guarded, settings_of, write_json

__all__ = ["BACKUP_HELP", "RESTORE_HELP", "backup", "restore"]

BACKUP_HELP = """\
Write the SQLite store and what belongs to it into one file, while servers and ingests go on.

The file holds one state of the store: every document whole, with its passages, vectors and texts; and the list of
repositories, counts and waiting jobs from DATA_PATH. It is written whole or not at all, is checked when it is complete,
and only its owner can read it. Keys, passwords, settings, models, caches and clones are not in it.

\b
Examples:
  knowledge backup /backup/knowledge.tar
  knowledge backup /backup/knowledge-$(date +%F).tar --force

\b
Exit codes: 0 written, 1 failed, 3 configuration or connection, 130 interrupted.
"""

RESTORE_HELP = """\
Put a backup in the place of the SQLite store and of what belongs to it.

The backup is checked first; then each file takes its place in one step. Servers that run take the new store up with the
next question; let no ingest run meanwhile, for what it writes goes with the old store.

\b
Examples:
  knowledge restore /backup/knowledge.tar
  DATA_PATH=/srv/knowledge knowledge restore /backup/knowledge.tar --force

\b
Exit codes: 0 restored, 1 failed, 3 configuration or connection, 130 interrupted.
"""


def backup(
    file: Annotated[Path, typer.Argument(help="File to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file where it is there.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Write the store into one file."""
    with guarded(verbose=verbose, as_json=as_json):
        settings = settings_of(config, verbose=verbose)
        from knowledge_mcp.cli.backup_run import back_up

        report = back_up(settings, file, force=force)
        _tell(f"Written: {file}", report, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(help="File that `knowledge backup` wrote.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the store that is there.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Put a backup in the store's place."""
    with guarded(verbose=verbose, as_json=as_json):
        settings = settings_of(config, verbose=verbose)
        from knowledge_mcp.cli.backup_run import restore_from

        report = restore_from(settings, file, force=force)
        _tell(f"Restored: {settings.data_folder}", report, as_json=as_json)


def _tell(done: str, report: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        write_json({"ok": True, **report})
        return
    typer.echo(f"{done} ({report['documents']} documents, {report['chunks']} chunks, {report['bytes']:,} bytes)")
