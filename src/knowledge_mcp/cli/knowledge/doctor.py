"""`knowledge doctor`: check everything that a working knowledge base needs, and say what to do."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.logs import set_up_logging
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, render, write_json
from knowledge_mcp.cli.shared.report import not_taken
from knowledge_mcp.cli.shared.session import StoreOptions, reading_of
from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.chunk import numbers_of
from knowledge_mcp.model.errors import ConfigError, KnowledgeError, NotFoundError, noticing
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.ports import Reranker, Synonyms
    from knowledge_mcp.settings import Reading, Settings

LITTLE_DISK = 1_000_000_000
TOO_LITTLE_DISK = 100_000_000
LOOKED_AT = 100
"""Documents to check the language of, spread over all of them: some milliseconds each."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of one check, and what to do if it failed."""

    check: str
    status: Literal["ok", "warn", "fail"]
    message: str
    what_to_do: str = ""


@with_groups
def doctor(
    options: StoreOptions,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired safely.")] = False,
) -> None:
    """Check settings, folders, store, model and disk. The exit code is 1 if something is broken.

    Example: knowledge doctor --repair
    """
    with options.guard():
        reading = reading_of(options.config)
        set_up_logging("INFO" if options.verbose else "ERROR", reading.settings.log_format)
        outcomes = list(_examine(reading, repair=repair))
        if options.as_json:
            write_json({"ok": not _has_failed(outcomes), "checks": [asdict(each) for each in outcomes]})
        else:
            _print(outcomes)
        if _has_failed(outcomes):
            raise typer.Exit(ExitCode.FAILURE)


def _has_failed(outcomes: list[CheckOutcome]) -> bool:
    return any(each.status == "fail" for each in outcomes)


def _examine(reading: Reading, *, repair: bool) -> Iterator[CheckOutcome]:
    settings = reading.settings
    yield from _settings(reading)
    yield from _used_later(settings)
    yield from _recognition(settings)
    yield _folder(settings)
    yield _disk(settings)
    yield _sandbox()
    yield from _sources(settings)
    model = _model(settings)
    yield model
    from knowledge_mcp import wiring

    base: Base | None = None
    try:
        base = wiring.build_base(settings)
    except ConfigError as exc:
        yield _failure("settings", exc)
    except KnowledgeError as exc:
        yield _failure("store", exc)
    if base is None:
        return
    try:
        yield _try("store", lambda: _store(base))
        if model.status == "ok":
            yield _try("embedding", lambda: _embedding(base))
            yield _try("collection", lambda: _collection(base))
            yield from _languages(base)
        reranker = base.reranker
        if reranker is not None:
            yield _try("reranker", lambda: _reranker(reranker, settings))
        if base.synonyms is not None:
            yield _synonyms(base.synonyms, settings)
        yield from _contents(base, repair=repair)
    finally:
        base.close()


def _failure(check: str, error: KnowledgeError) -> CheckOutcome:
    return CheckOutcome(check, "fail", error.message, error.suggestion)


def _try(check: str, examine: Callable[[], CheckOutcome]) -> CheckOutcome:
    try:
        return examine()
    except KnowledgeError as exc:
        return _failure(check, exc)


def _settings(reading: Reading) -> Iterator[CheckOutcome]:
    for problem in reading.problems:
        yield CheckOutcome("settings", "fail", problem, "`knowledge config show` shows where each value comes from.")
    if not reading.problems:
        source = (
            f"{reading.env_file} and the environment" if reading.env_file else "the environment; no .env file was found"
        )
        yield CheckOutcome("settings", "ok", f"read from {source}")
        from knowledge_mcp.settings import find_misspelt

        for name, near in find_misspelt(reading.env_file).items():
            hint = f"Rename it, unless it belongs to another program: did you mean {near}?"
            yield CheckOutcome("settings", "warn", f"{name} is set, but is not a setting", hint)


def _used_later(settings: Settings) -> Iterator[CheckOutcome]:
    """Read what is otherwise read when a server starts, a source is synced, or a protected file is met."""
    from knowledge_mcp import wiring
    from knowledge_mcp.sources.git.source import from_options
    from knowledge_mcp.sources.synced.building import logins_of
    from knowledge_mcp.transports.shared.keys import KeyRing

    files = {"MCP_API_KEYS_FILE": settings.mcp_api_keys_file, "RAG_API_KEYS_FILE": settings.rag_api_keys_file}
    for name, path in files.items():
        if problem := KeyRing(path=path, setting=name).problem:
            yield CheckOutcome("settings", "fail", problem, f"Correct the file, or unset {name}.")
    reads: list[Callable[[], object]] = [
        lambda: from_options(settings),
        lambda: logins_of(settings),
        lambda: wiring.build_passwords(settings).listed(),
    ]
    for read in reads:
        try:
            read()
        except KnowledgeError as exc:
            yield _failure("settings", exc)


def _recognition(settings: Settings) -> Iterator[CheckOutcome]:
    """Check that scans can be read in the configured languages, if at all."""
    from knowledge_mcp import wiring

    engine = wiring.build_ocr(settings) if settings.enable_ocr else None
    if engine is None:
        return
    try:
        engine.ready(settings.ocr_language)
        yield CheckOutcome("text recognition", "ok", f"{engine.version}, {settings.ocr_language}")
    except ConfigError as exc:  # needed only for scans and images
        yield CheckOutcome("text recognition", "ok", exc.message, exc.suggestion)
    except KnowledgeError as exc:
        yield CheckOutcome("text recognition", "fail", f"OCR_LANGUAGE: {exc.message}", exc.suggestion)
    finally:
        engine.close()


def _nearest(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if each.exists()), folder)


def _folder(settings: Settings) -> CheckOutcome:
    folder = settings.data_folder
    there = _nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as exc:
        hint = "Set DATA_PATH to a folder that you can write to, or change the folder's permissions."
        return CheckOutcome("data folder", "fail", f"{there} cannot be written: {exc.strerror or exc}", hint)
    return CheckOutcome(
        "data folder", "ok", str(folder) if folder.exists() else f"{folder} (created by the first ingest)"
    )


def _disk(settings: Settings) -> CheckOutcome:
    free = shutil.disk_usage(_nearest(settings.data_folder)).free
    message = f"{free / 1e9:.1f} GB free"
    if free < TOO_LITTLE_DISK:
        return CheckOutcome("disk", "fail", message, "Free some disk space: the store cannot be written safely.")
    if free < LITTLE_DISK:
        return CheckOutcome("disk", "warn", message, "Free some disk space before a larger ingest.")
    return CheckOutcome("disk", "ok", message)


def _sources(settings: Settings) -> Iterator[CheckOutcome]:
    """Report the state of the registered sources; none of them is contacted."""
    from knowledge_mcp import wiring

    try:
        listed = wiring.list_sources(settings).all()
    except KnowledgeError as exc:
        yield _failure("sources", exc)
        return
    for each in listed:
        name, state = each.spec.name, each.state
        synced = f"last synced {state.last_synced}" if state.last_synced else "never synced"
        if state.last_error:
            yield CheckOutcome(f"source {name}", "warn", f"{synced}; {state.last_error}", f"`knowledge sync {name}`")
        elif each.is_stale():
            yield CheckOutcome(f"source {name}", "warn", f"stale: {synced}", f"`knowledge sync {name}`")
        else:
            advice = f"`knowledge sync {name}` lists what was not ingested." if state.skipped else ""
            found = f"{how_many(state.documents, 'document')}{not_taken(state.skipped)}, {synced}"
            yield CheckOutcome(f"source {name}", "ok", found, advice)


_LIMITS = {
    "linux": "Limits on time, memory and output apply.",
    "darwin": "Limits on time and output apply; memory is checked four times a second.",
    "win32": "A job object limits its memory and keeps it from starting programs; its time is limited, its output "
    "is not.",
}
"""What still bounds a reader, by system; docs/platforms.md has it in full."""


def _sandbox() -> CheckOutcome:
    """Ask a child process like those that read files for its protections."""
    from knowledge_mcp.support.sandbox import Sandbox, SandboxFailure

    try:
        (protections,) = Sandbox(keep=0).run("knowledge_mcp.support.sandbox_worker:protections", {})
    except (OSError, SandboxFailure) as exc:
        return CheckOutcome("sandbox", "fail", f"no file can be read: {exc}", "Files are read in a child process only.")
    lacking = [f"{what}: {why}" for what, why in protections.items() if why]
    if not protections:
        lacking.append("files and connections (they are restricted only on Linux)")
    if lacking:
        message = f"incomplete on this machine: {'; '.join(lacking)}. {_LIMITS.get(sys.platform, _LIMITS['linux'])}"
        return CheckOutcome(
            "sandbox", "warn", message, "Ingest untrusted files on Linux 5.13 or later, preferably 6.12 or later."
        )
    return CheckOutcome(
        "sandbox", "ok", "works: the process that reads a file cannot open other files, connect, or start programs"
    )


def _model(settings: Settings) -> CheckOutcome:
    from knowledge_mcp.cli.knowledge.models import model_name
    from knowledge_mcp.embedders.local import model_files
    from knowledge_mcp.embedders.local.session import are_exact
    from knowledge_mcp.settings import choose_embedding

    choice = choose_embedding(settings)
    if choice.provider != "local":
        return CheckOutcome("embedding model", "ok", f"{choice.model} is run by {choice.provider}")
    name = model_name(settings)
    try:
        checks = model_files.verify(name, path=settings.embedding_model_path, cache=settings.models_folder)
    except NotFoundError as exc:
        return CheckOutcome(
            "embedding model", "warn", exc.message, "`knowledge models fetch` downloads it; so does the first ingest."
        )
    except KnowledgeError as exc:
        return _failure("embedding model", exc)
    wrong = [each.path.name for each in checks if not each.ok]
    if wrong:
        message = f"{name}: {', '.join(wrong)} missing or damaged"
        return CheckOutcome("embedding model", "fail", message, "`knowledge models fetch` downloads the correct files.")
    message = f"{name}: {how_many(len(checks), 'file')} correct"
    if settings.embedding_variant == "int8" and not are_exact():
        message += "; int8 is as slow as fp32 here, because this processor has no instructions for it"
    return CheckOutcome("embedding model", "ok", message)


def _store(base: Base) -> CheckOutcome:
    started = time.perf_counter()
    with without_retries():
        base.opened.info()
    milliseconds = (time.perf_counter() - started) * 1000
    message = f"{base.store.identity.backend} at {base.store.identity.location} answers in {milliseconds:.0f} ms"
    if base.degraded:
        return CheckOutcome("store", "warn", f"{base.degraded} {message}", "Start it, or correct its address.")
    return CheckOutcome("store", "ok", message)


def _embedding(base: Base) -> CheckOutcome:
    started = time.perf_counter()
    vector = base.embedder.embed_query("The supplier shall verify each requirement.")
    milliseconds = (time.perf_counter() - started) * 1000
    parts = numbers_of(vector)
    norm = math.sqrt(sum(part * part for part in parts))
    space = base.embedder.space
    if len(parts) != space.dimensions or abs(norm - 1) > 1e-3:
        message = f"{space.label} returned a vector of {len(parts)} components with norm {norm:.3f}"
        return CheckOutcome("embedding", "fail", message, "`knowledge models verify` checks the model's files.")
    return CheckOutcome("embedding", "ok", f"{space.label} embeds (first call {milliseconds:.0f} ms)")


def _collection(base: Base) -> CheckOutcome:
    base.check_space()
    return CheckOutcome("collection", "ok", f"'{base.collection}' uses the configured embedding space")


def _languages(base: Base) -> Iterator[CheckOutcome]:
    """Look at some documents: a model that does not know their language finds little by meaning."""
    from knowledge_mcp.embedders.local.model_folders import MULTILINGUAL_E5, find_pinned
    from knowledge_mcp.language.multilingual.recognition import LANGUAGE_NAMES, language_of

    space = base.embedder.space
    known = find_pinned(space.model) if space.provider == "local" else None
    if known is None or not known.languages or base.opened.info() is None:
        return
    try:
        with noticing():  # what is damaged is among the findings
            records = base.opened.documents()
            step = max(1, len(records) // LOOKED_AT)
            parts = [base.opened.parts(each.id) for each in records[::step][:LOOKED_AT]]
            codes = [language_of(each.text or "") for each in parts if each is not None]
    except KnowledgeError as exc:
        yield _failure("languages", exc)
        return
    other = Counter(code for code in codes if code and code not in known.languages)
    if other:
        names = " and ".join(LANGUAGE_NAMES[code] for code, _ in other.most_common())
        yield CheckOutcome(
            "languages", "warn",
            f"{other.total()} of {len(codes)} documents checked are in {names}, which {known.name} does not "
            "support: searches find them by words, but hardly by meaning",
            f"Set EMBEDDING_MODEL={MULTILINGUAL_E5.name} and run `knowledge reembed`.",
        )  # fmt: skip
    elif codes:
        yield CheckOutcome("languages", "ok", f"{known.name} supports the language of the documents")


def _reranker(reranker: Reranker, settings: Settings) -> CheckOutcome:
    started = time.perf_counter()
    reranker.warm_up()
    if settings.reranker == "api":
        return CheckOutcome(
            "reranker", "ok", f"{settings.reranker_url} is called at each search; it was not tested now"
        )
    milliseconds = (time.perf_counter() - started) * 1000
    return CheckOutcome("reranker", "ok", f"{settings.reranker_folder.name} loaded in {milliseconds:.0f} ms")


def _synonyms(synonyms: Synonyms, settings: Settings) -> CheckOutcome:
    message = f"{how_many(synonyms.size, 'entry', 'entries')} of {', '.join(settings.synonym_lists)}"
    if synonyms.unsearched:
        message += f", of which some can never match: {', '.join(synonyms.unsearched)}"
        return CheckOutcome(
            "synonyms", "warn", message, "These entries consist only of words that are not searched. Use other words."
        )
    return CheckOutcome("synonyms", "ok", message)


def _contents(base: Base, *, repair: bool) -> Iterator[CheckOutcome]:
    from knowledge_mcp.engine.core.health import verify

    try:
        for each in base.outgrown(anywhere=True):
            yield CheckOutcome("store size", "warn", each.message, each.suggestion)
        if base.opened.info() is None:
            others = ", ".join(each.name for each in base.store.collections())
            yield CheckOutcome(
                "contents",
                "ok" if others else "warn",
                f"'{base.collection}' is empty{f'; other collections ({others}) were not verified' if others else ''}",
                "Run `knowledge-ingest FOLDER`.",
            )
            return
        findings = verify(base, repair=repair)
        counted = counts_of(base.opened)
        with noticing():  # what is damaged is among the findings
            recorded = sum(each.chunk_count for each in base.opened.documents())
        count = getattr(base.opened, "unchecked_documents", None)  # only some stores keep older documents
        unchecked: int = count() if count is not None else 0
    except KnowledgeError as exc:
        yield _failure("contents", exc)
        return
    for each in findings:
        where = f"{each.document_id}: " if each.document_id else ""
        if each.repaired:
            yield CheckOutcome("contents", "ok", f"{where}{each.message} (repaired)")
        else:
            yield CheckOutcome(
                "contents", "fail", f"{where}{each.message}", each.suggestion or "`knowledge doctor --repair`"
            )
    if unchecked:
        number = how_many(unchecked, "document was", "documents were")
        message = f"{number} stored before checksums existed; only their passages are checked"
        yield CheckOutcome(
            "check sums", "warn", message, "Run `knowledge-ingest --force` on their files to store checksums."
        )
    if recorded != counted.chunks and not findings:
        message = f"the documents' records list {how_many(recorded, 'chunk')}, the store contains {counted.chunks:,}"
        yield CheckOutcome(
            "records", "fail", message, "Run `knowledge-ingest --force` on the files of these documents."
        )
    elif not findings:
        yield CheckOutcome(
            "contents",
            "ok",
            f"{how_many(counted.documents, 'document')}, {how_many(counted.chunks, 'chunk')}, all consistent",
        )


def _print(outcomes: list[CheckOutcome]) -> None:
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    rows = [(render(each.status, styles[each.status]), each.check, each.message, each.what_to_do) for each in outcomes]
    print_table(("", "Check", "Found", "What to do"), rows)
