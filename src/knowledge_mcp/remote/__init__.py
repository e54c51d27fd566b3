"""The same Knowledge over the REST interface of another machine."""
