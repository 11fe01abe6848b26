"""Studies: the examples of papers, compared with the printed results; one paper, one folder."""
