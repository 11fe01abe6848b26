"""Parameter estimation: regressions fitted to observations, with standard errors and diagnostics."""
