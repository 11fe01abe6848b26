"""The commands `gui`, `watch` and `demo`."""
