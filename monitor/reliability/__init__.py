"""How probable it is that a model still describes what is measured, against an ensemble of its realizations.

Ao, Hu and Mahadevan, "Dynamics model validation using time-domain metrics": the probability that model and
measurement differ by less than a tolerance, at an instant, at every instant so far, and on the average so far.
"""
