"""`knowledge planning ingest|list|search|text|delete`: the documents of planning applications, for case officers."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from knowledge_mcp.cli.entry import confirmed
from knowledge_mcp.cli.failures import ExitCode
from knowledge_mcp.cli.planning_run import Choices, FolderRun
from knowledge_mcp.cli.session import AsJson, ConfigFile, Verbose, guarded, load, out, settings_of, shown, write_json

if TYPE_CHECKING:
    from knowledge_mcp.engine.filing import FilingDesk

__all__ = ["app", "delete", "ingest", "list_documents", "search", "text"]

app = typer.Typer(
    no_args_is_help=True,
    help="Ingest, list, search, read and delete the documents of planning applications.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Ref = Annotated[str, typer.Option("--ref", metavar="REF", help="Planning application, e.g. 25/01178/REM.")]
OptionalRef = Annotated[str | None, typer.Option("--ref", metavar="REF", help="Only this application's documents.")]
Types = Annotated[
    list[str] | None, typer.Option("--type", metavar="TYPE", help="Only documents of this type; may be repeated.")
]
DocumentId = Annotated[str, typer.Argument(metavar="DOCUMENT_ID", help="Id, as `knowledge planning list` shows it.")]


@contextmanager
def _desk(config: Path | None, *, verbose: bool, as_json: bool, root: Path | None = None) -> Generator[FilingDesk]:
    """Open the planning documents for one command, guarded, and close them; with a root files come from there only."""
    with guarded(verbose=verbose, as_json=as_json):
        from knowledge_mcp import wiring

        settings = settings_of(config, verbose=verbose, surface="planning", quiet="ERROR")
        desk = cast("FilingDesk", wiring.build_knowledge(settings, surface="planning", roots=root and (root,)))
        try:
            yield desk
        finally:
            desk.close()


@app.command()
def ingest(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", readable=False, help="Folder of documents, or one file.")],
    ref: Ref,
    document_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Type of all documents, instead of telling it by each.")
    ] = None,
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Look into subfolders too.")] = True,
    force_ocr: Annotated[
        bool, typer.Option("--force-ocr", help="Read every page by text recognition, and image-based documents too.")
    ] = False,
    ocr_language: Annotated[
        str | None, typer.Option("--ocr-language", metavar="LANG", help="Languages of scans, e.g. eng or eng+cym.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on and ingest what is added or changed, until Ctrl-C.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write an HTML report, with pictures of the pages not read."),
    ] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Ingest a folder of documents for one application.

    Example: knowledge planning ingest ~/25-01178-REM --ref 25/01178/REM --report report.html

    Exit codes: 0 success, 1 some documents failed, 2 no document found, 3 configuration error, 130 interrupted.
    """
    choices = Choices(
        folder=folder,
        application_ref=ref.strip(),
        document_type=document_type,
        recursive=recursive,
        force_ocr=force_ocr,
        ocr_language=ocr_language,
        watch=watch,
        report=report,
        as_json=as_json,
    )
    code = ExitCode.SUCCESS
    # a folder that is watched is filled by others: no link that they make leads out of it
    root = folder.expanduser().absolute() if watch else None
    with _desk(config, verbose=verbose, as_json=as_json, root=root) as desk:
        code = FolderRun(desk, choices).run()
    raise typer.Exit(code)


@app.command("list")
def list_documents(
    ref: Ref, types: Types = None, as_json: AsJson = False, config: ConfigFile = None, verbose: Verbose = False
) -> None:
    """List an application's documents.

    Example: knowledge planning list --ref 25/01178/REM
    """
    with _desk(config, verbose=verbose, as_json=as_json) as desk:
        from knowledge_mcp.surfaces.planning.requests import ListRequest
        from knowledge_mcp.surfaces.planning.tools import list_ingested_documents

        request = load(ListRequest, {"application_ref": ref, "document_types": types or None})
        answer = list_ingested_documents(desk, request).model_dump(mode="json", exclude_unset=True)
        if as_json:
            write_json(answer)
            return
        if not answer["documents"]:
            out().print(f"No document of application {ref} has been ingested.", markup=False)
            return
        from rich.table import Table

        table = Table()
        for name in ("Id", "File", "Type", "Read by"):
            table.add_column(name, overflow="fold")
        table.add_column("Chunks", justify="right")
        table.add_column("Ingested")
        for each in answer["documents"]:
            name = Path(each["file_path"]).name
            method = each["extraction_method"] + (", drawings" if each["contains_drawings"] else "")
            cells = (each["document_id"], name, each["document_type"], method, str(each["chunk_count"]))
            table.add_row(*map(shown, cells), each["ingested_at"][:16].replace("T", " "))
        out().print(table)


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to find.")],
    ref: OptionalRef = None,
    types: Types = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most passages to show.")] = 10,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Find passages by meaning.

    Example: knowledge planning search "cycle parking" --ref 25/01178/REM
    """
    with _desk(config, verbose=verbose, as_json=as_json) as desk:
        from knowledge_mcp.surfaces.planning.requests import SearchRequest
        from knowledge_mcp.surfaces.planning.tools import search_application_docs

        values: dict[str, Any] = {
            "query": query,
            "application_ref": ref,
            "document_types": types or None,
            "max_results": limit,
        }
        answer = search_application_docs(desk, load(SearchRequest, values)).model_dump(mode="json", exclude_unset=True)
        if as_json:
            write_json(answer)
            return
        console = out()
        for each in answer["results"]:
            found = each["metadata"]
            place = f"{found['source_file']}, page {found['page_numbers']}" if found["page_numbers"] else "?"
            console.print(
                shown(f"{each['relevance_score']:.2f}  {place}  ({found['application_ref']})", "bold"), soft_wrap=True
            )
            console.print(shown(each["text"]))
            console.print()
        if not answer["results"]:
            console.print(answer["message"], markup=False)


@app.command()
def text(document_id: DocumentId, as_json: AsJson = False, config: ConfigFile = None, verbose: Verbose = False) -> None:
    """Write a document's whole text to standard output.

    Example: knowledge planning text 25_01178_REM_a1b2c3
    """
    with _desk(config, verbose=verbose, as_json=as_json) as desk:
        from knowledge_mcp.surfaces.planning.requests import DocumentTextRequest
        from knowledge_mcp.surfaces.planning.tools import get_document_text

        answer = get_document_text(desk, load(DocumentTextRequest, {"document_id": document_id}))
        if as_json:
            write_json(answer.model_dump(mode="json", exclude_unset=True))
        else:
            sys.stdout.write(answer.text + "\n")


@app.command()
def delete(
    document_id: DocumentId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Remove a document with all its passages; the file itself stays.

    Example: knowledge planning delete 25_01178_REM_a1b2c3 --yes
    """
    with _desk(config, verbose=verbose, as_json=as_json) as desk:
        from knowledge_mcp.surfaces.planning.requests import DeleteRequest
        from knowledge_mcp.surfaces.planning.tools import delete_document

        request = load(DeleteRequest, {"document_id": document_id})
        record = desk.document(document_id)
        if not yes and not confirmed(f"Remove '{record.id}' ({record.title}, {record.chunk_count} chunks)?"):
            raise typer.Exit(ExitCode.FAILURE)
        answer = delete_document(desk, request)
        if as_json:
            write_json(answer.model_dump(mode="json", exclude_unset=True))
        else:
            out().print(f"Removed {answer.document_id}: {answer.chunks_deleted} chunks.", markup=False)
