"""How good the answers are: data sets, metrics, runner, report."""
