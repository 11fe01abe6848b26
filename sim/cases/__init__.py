"""Tests that are complete: the paper's tracking cases, the demonstration, pairs of signals with known delays."""
