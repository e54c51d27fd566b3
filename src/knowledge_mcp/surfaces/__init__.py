"""The tools that assistants call, one package for each surface, over Knowledge."""
