"""Settings of what puts the best hits in a better order."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, SecretStr

from knowledge_mcp.settings.variables import FusionName, RerankerName, Words, setting

__all__ = ["LOCAL_RERANKER", "RankingSettings"]

LOCAL_RERANKER = "ms-marco-MiniLM-L12-v2"
_RANK = "Reranking"


class RankingSettings(BaseModel):
    """Say how the legs become one ranking, and which reranker looks at the best hits, for how long."""

    hybrid_fusion: FusionName = setting(
        "HYBRID_FUSION", "auto",
        "How hybrid searches that name no weight rank: `ranks` fuses ranks (RRF, k = 60, 70 to 30), as the "
        "specification of the standards says; `scores` blends scores, which finds more; `auto` is `ranks` for the "
        "standards, else `scores`.",
        group=_RANK,
    )  # fmt: skip
    synonyms: Words = setting(
        "SYNONYMS", ("finance",),
        "Comma-separated lists of words that documents may put differently than a question; where they do, these are "
        "asked for as well. `finance` is shipped; files of yours have the form of Solr and Elasticsearch (`a, b` or "
        "`a => b, c` a line); `none` is no list. For the surfaces standards and rag.",
        group=_RANK, example="finance,/etc/knowledge-mcp/synonyms.txt",
    )  # fmt: skip
    reranker: RerankerName = setting(
        "RERANKER", "none",
        "`none`; `local` for a cross-encoder on this machine (`knowledge models fetch ms-marco-MiniLM-L12-v2` gets "
        "one); `api` for a service at RERANKER_URL. It puts the best hits of the surfaces standards and rag in a new "
        "order; where it fails or is late, the order stays, and the answer says so.",
        group=_RANK, example="local",
    )  # fmt: skip
    reranker_model_path: Path | None = setting(
        "RERANKER_MODEL_PATH", None,
        "Folder with `model.onnx` and `tokenizer.json` of another cross-encoder than the one fetched by name.",
        group=_RANK, example="/opt/models/ms-marco-MiniLM-L6-v2",
    )  # fmt: skip
    reranker_url: str | None = setting(
        "RERANKER_URL", None,
        "Whole address of a service that takes `{query, documents, top_n, model}` and gives `{results: [{index, "
        "relevance_score}]}`.",
        key="RERANKER_API_KEY", group=_RANK, example="https://rerank.example.com/v1/rerank",
    )  # fmt: skip
    reranker_api_key: SecretStr | None = setting(
        "RERANKER_API_KEY", None, "Bearer token for RERANKER_URL.", group=_RANK, example="your-key"
    )
    reranker_model: str | None = setting(
        "RERANKER_MODEL", None, "Model named in requests to RERANKER_URL.", group=_RANK, example="rerank-v3.5"
    )
    reranker_top: int = setting("RERANKER_TOP", 20, "Hits that the reranker looks at.", group=_RANK, ge=2, le=100)
    reranker_budget_ms: int = setting(
        "RERANKER_BUDGET_MS",
        1500,
        "Milliseconds that it may take.",
        group=_RANK,
        ge=10,
        le=60000,
    )
