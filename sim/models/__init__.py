"""Models of structures whose response is random or whose truth is known. One file a model."""
