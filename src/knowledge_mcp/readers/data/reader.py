"""Data files to `Document`: tables (CSV), and trees of names and values (JSON, XML, OSCAL in YAML)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from knowledge_mcp.model.source import OSCAL_YAML
from knowledge_mcp.readers.shared.isolation import ConvertingReader


class DataReader(ConvertingReader):
    """Read CSV as one table, JSON and XML as sections with their paths, documents in XML as pages. Thread-safe.

    MarkItDown is not used, because it returns JSON and XML unchanged and decodes western CSV files wrongly.
    """

    label = "data-22"
    item_jobs: ClassVar[Mapping[str, str]] = {"text/csv": "knowledge_mcp.readers.data.csv:items"}
    jobs: ClassVar[Mapping[str, str]] = {
        "text/csv": "knowledge_mcp.readers.data.csv:table",
        "application/json": "knowledge_mcp.readers.data.trees:json_tree",
        OSCAL_YAML: "knowledge_mcp.readers.data.trees:yaml_tree",
        "application/xml": "knowledge_mcp.readers.data.trees:xml_tree",
        "text/xml": "knowledge_mcp.readers.data.trees:xml_tree",
    }
