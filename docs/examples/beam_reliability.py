"""Does the model of a beam still hold? The three reliabilities of a good model and of one that misses something."""

# %% [markdown]
# The model is not one curve but an ensemble: a beam whose section and loads are random, two thousand of them. The
# specimens are measured at midspan; the second has a part that the model does not know, from 1 s on.

# %%
import numpy as np
from matplotlib.figure import Figure

from monitor import SiteReliability, Tolerance, TolerancePolicy, sort_ensemble
from sim.ensembles import realization_block, replicates
from sim.models.beam import StochasticBeam

beam = StochasticBeam()
response = np.concatenate([realization_block(beam, 1, block) for block in range(2)], axis=1)
ensemble = sort_ensemble(beam.time, response, "m", "deflection at midspan")
measured = {"good model": replicates(beam, 1, seed=1), "bad model": replicates(beam, 1, seed=1, bad=True)}

# %% [markdown]
# Within 16 % of the measurement counts as agreement. *Instantaneous* is the probability of that now, *first-passage*
# that it was so at every instant until now, *accumulated* the share of the time at which it was.

# %%
reliabilities = {}
for name, record in measured.items():
    tolerance = Tolerance.from_records(TolerancePolicy.LITERAL, 0.16, record)
    site = SiteReliability(ensemble, tolerance)
    reliabilities[name] = site.update(np.arange(len(record)), record).reliability
    for kind in ("instantaneous", "first_passage", "accumulated"):
        curve = getattr(reliabilities[name], kind)
        print(f"{name}, {kind} at the end: {curve.value[-1]:.3f} ± {curve.standard_error[-1]:.3f}")

# %%
figure = Figure(figsize=(8.0, 4.6), layout="constrained")
(above, below) = figure.subplots(2, 2, sharex=True, sharey="row")
low, high = 1e3 * np.quantile(response, (0.025, 0.975), axis=1)
for top, bottom, (name, record) in zip(above, below, measured.items(), strict=True):
    top.fill_between(beam.time, low, high, color="0.8", label="95 % of the ensemble")
    top.plot(beam.time, 1e3 * record[:, 0], linewidth=1.0, label="measured")
    top.set_title(name, loc="left", fontsize="medium")
    found = reliabilities[name]
    bottom.plot(beam.time, found.instantaneous.value, linewidth=0.8, label="instantaneous")
    bottom.plot(beam.time, found.first_passage.value, label="first-passage")
    bottom.plot(beam.time, found.accumulated.value, label="accumulated")
    bottom.set_xlabel("time [s]")
above[0].set_ylabel("deflection [mm]")
below[0].set(ylabel="reliability", ylim=(-0.03, 1.03))
above[0].legend(fontsize="small")
below[0].legend(fontsize="small", loc="lower left")
figure.savefig("beam_reliability.png", dpi=90)
