"""A model lacks a force of unknown law: recovered from accelerations, with a band, and then its law."""

# %% [markdown]
# Two storeys are measured; the lower one hardens, which the model does not know. It is given where the force acts,
# nothing else. The accelerations have 0.2 m/s² of noise.

# %%
import numpy as np
from matplotlib.figure import Figure

from sim.laboratory.structure import Structure
from sim.missing_force.law_fit import find_laws
from sim.missing_force.recovery import recover_force
from sim.missing_force.smoother import ForceProblem
from sim.missing_force.state_space import Sensor
from sim.models.chain import Chain, chain_response

rng, dt, hardening = np.random.default_rng(1), 0.01, 200.0  # s, N/m^3
chain = Chain(masses=[1.0, 1.0], springs=[90.0, 120.0], dampers=0.5, cubic=[hardening, 0.0])
load = np.column_stack([np.zeros(400), 20.0 * rng.standard_normal(400)])  # N, on the upper storey
motion = chain_response(chain, load, dt)
true_force = hardening * motion.displacement[:, 0] ** 3

problem = ForceProblem(
    Structure(*chain.matrices),  # linear
    forces=[[1.0], [0.0]],  # on the lower storey
    time=np.arange(0.0, 400 * dt, dt),
    load=load,
    sensors=[Sensor(1, "acceleration"), Sensor(2, "acceleration")],
    observed=motion.acceleration + 0.2 * rng.standard_normal((400, 2)),
    initial_sd=np.zeros(4),  # at rest
)
recovered = recover_force(problem)
force, sd = recovered.force[:, 0], recovered.force_sd[:, 0]
covered = np.abs(force - true_force) <= 1.96 * sd
print(f"the true force is in the band of 95 % at {covered.mean():.0%} of the instants")

# %% [markdown]
# A smooth force is all that was assumed. Accelerations do not show a slow drift of it, which the band includes. Its
# law is then sought among constants, springs, dampers and friction, and fitted to the samples, not to the curve.

# %%
law = find_laws(problem, recovered)[0]
for name, value, error in zip(law.names, law.coefficients, law.standard_errors, strict=True):
    print(f"{name}: {value:.1f} ± {error:.1f}, true {hardening:g} N/m³")

# %%
figure = Figure(figsize=(8.0, 3.4), layout="constrained")
over_time, over_stretch = figure.subplots(1, 2, width_ratios=(2.0, 1.0), sharey=True)
over_time.plot(problem.time, true_force, color="black", linewidth=3, alpha=0.3, label="true")
over_time.plot(problem.time, force, linewidth=1.0, label="recovered, and its band of 95 %")
over_time.fill_between(problem.time, force - 1.96 * sd, force + 1.96 * sd, alpha=0.25)
over_time.set(xlabel="time [s]", ylabel="restoring force that is missing [N]")
over_time.legend(fontsize="small")
stretch = np.linspace(-1.0, 1.0, 101) * np.abs(motion.displacement[:, 0]).max()
over_stretch.plot(1e3 * recovered.smoothed.displacement[:, 0], force, ".", markersize=2)
over_stretch.plot(1e3 * stretch, float(law.coefficients[0]) * stretch**3, label=law.names[0])
over_stretch.set(xlabel="stretch [mm]")
over_stretch.legend(fontsize="small")
figure.savefig("missing_force.png", dpi=90)
