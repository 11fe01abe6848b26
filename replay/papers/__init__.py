"""Papers: their examples, compared with the printed results; one paper, one folder."""
