"""Readers of requirements of other tools (ReqIF, StrictDoc, Doorstop, sphinx-needs, workbooks) and of test reports."""
