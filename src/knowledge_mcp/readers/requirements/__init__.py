"""Readers of requirements as other tools write them: ReqIF, StrictDoc, Doorstop, sphinx-needs, workbooks."""
