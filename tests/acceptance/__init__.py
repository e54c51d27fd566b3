"""The main job as its user has it: real commands, real model, real store, the example documents, a real MCP client."""
