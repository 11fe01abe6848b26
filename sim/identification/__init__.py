"""Parameter estimation: models with parameters, fitted to what was observed, with what the fit does not know."""
