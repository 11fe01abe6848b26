"""Parameter estimation where a model leaves something out: the examples of the paper, over many runs."""
