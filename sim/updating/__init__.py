"""How far a model's response is from a record: time histories, principal components, modes, spectra."""
