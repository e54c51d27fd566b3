"""The environment, `.env` and configuration file, read once and frozen; `reading` alone reads `os.environ`."""

from knowledge_mcp.settings.fields import (
    LOCAL_MODEL,
    OPENAI_MODEL,
    EmbeddingChoice,
    Settings,
    StoreChoice,
    choose_embedding,
    choose_store,
    contradictions,
    variables,
)
from knowledge_mcp.settings.groups import Variable
from knowledge_mcp.settings.reading import (
    Reading,
    SettingValue,
    find_env_file,
    find_misspelt,
    load_settings,
    network_environment,
    read_settings,
)

__all__ = [
    "LOCAL_MODEL",
    "OPENAI_MODEL",
    "EmbeddingChoice",
    "Reading",
    "SettingValue",
    "Settings",
    "StoreChoice",
    "Variable",
    "choose_embedding",
    "choose_store",
    "contradictions",
    "find_env_file",
    "find_misspelt",
    "load_settings",
    "network_environment",
    "read_settings",
    "variables",
]
