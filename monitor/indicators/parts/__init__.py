"""Parts shared by indicators: sliding windows, fits, transforms, spectra."""
