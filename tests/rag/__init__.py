"""The surface `rag`: its tools over a library, here and on another machine, and as clients see them."""
