"""Collections of other surfaces are closed to whoever asks for them over the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.settings import load_settings


@pytest.mark.parametrize(
    "name", ["se_knowledge_base.old-20261122", "application_docs", "document_registry", "repo_one"]
)
def test_collections_of_other_surfaces_are_neither_read_nor_filled_nor_dropped(tmp_path: Path, name: str) -> None:
    library = wiring.build_library(load_settings(environ={"DATA_PATH": str(tmp_path)}, folder=tmp_path, surface="rag"))
    try:
        with pytest.raises(InvalidInputError, match="another part"):
            library.records(name)
        with pytest.raises(InvalidInputError, match="another part"):
            library.drop_collection(name)
        with pytest.raises(InvalidInputError, match="another part"):
            library.submit(Deposit(name, "a.md", "x"))
    finally:
        library.close()


@pytest.mark.parametrize("is_service", [True, False])
def test_both_servers_show_what_knowledge_ingest_filled_and_nobody_changes_it_there(
    tmp_path: Path, is_service: bool
) -> None:
    settings = load_settings(environ={"DATA_PATH": str(tmp_path)}, folder=tmp_path, surface="rag")
    made = wiring.build_library(settings) if is_service else None
    library = made or wiring.build_service(settings, surface="rag")
    try:
        with pytest.raises(NotFoundError):
            library.records(settings.collection)  # nothing was ingested yet
        with pytest.raises(InvalidInputError, match="another part"):
            library.drop_collection(settings.collection)
        with pytest.raises(InvalidInputError, match="another part"):
            library.submit(Deposit(settings.collection, "a.md", "x"))
        for name in (f"{settings.collection}.old-20261122", "application_docs"):
            with pytest.raises(InvalidInputError, match="another part"):
                library.records(name)
    finally:
        library.close()
