"""The commands that read recordings, run simulations and studies, or play them as a rig would."""
