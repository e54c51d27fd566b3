"""Clients and suites that are not ours: TypeScript SDKs, Inspector, conformance."""
