"""Control catalogues in structured files: OSCAL in JSON, YAML and XML, and XCCDF benchmarks."""
