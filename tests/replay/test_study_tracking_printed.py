"""The printed numbers of the tracking paper and ours, each against the formula that it comes from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replay.papers.tracking.study import STUDIED, printed_figures, study_case

pytestmark = pytest.mark.usefixtures("warm_kernels")


@pytest.fixture(scope="module")
def figures():
    """Return the figures of a case by name."""
    found = {}

    def get(name):
        if name not in found:
            study = study_case(name)
            found[name] = study, {figure.name: figure for figure in printed_figures(study)}
        return found[name]

    return get


@pytest.mark.parametrize("name", STUDIED)
def test_every_printed_number_has_ours_its_unit_and_its_place(figures, name):
    study, by_name = figures(name)
    assert by_name
    for figure in by_name.values():
        assert figure.label and figure.unit and figure.where
        assert math.isfinite(figure.printed) and math.isfinite(figure.ours), figure
    # what is only a place in the record is told as one
    assert set(study.case.printed) - set(by_name) <= {"overshoot_time", "lag_time"}
    if study.case.virtual:
        assert all("virtual stand-in" in figure.remark for figure in by_name.values())


def test_case_i(figures):
    _, found = figures("i")
    assert found["phase"].ours == pytest.approx(3.0 * math.pi * 15.0 / 1024.0, rel=1e-6)
    assert found["amplitude_error"].ours == pytest.approx(-0.5, rel=1e-6)
    assert found["time_steps"].ours == pytest.approx(15.0, rel=1e-6)


@pytest.mark.parametrize("name", ["ii-a", "ii-b"])
def test_the_lags_of_case_ii(figures, name):
    """5 ms at sqrt(2) of the natural frequency, which is 1/1.15 Hz damped by 2 %."""
    study, found = figures(name)
    driven, natural = 2.0 * math.pi * math.sqrt(2.0) / 1.15, 2.0 * math.pi * math.sqrt(1.0 - 0.02**2) / 1.15
    assert found["lag_driven"].ours == pytest.approx(0.005 * driven, rel=1e-6)
    assert found["lag_natural"].ours == pytest.approx(0.005 * natural, rel=1e-6)
    assert "0.0386 exactly" in found["lag_driven"].remark and "0.0273 exactly" in found["lag_natural"].remark
    # the gain is exact, so that the error is a tenth of the beat's amplitude in a window, and not at its peak
    assert study.values("paei_ratio")[np.isfinite(study.values("paei_ratio"))] == pytest.approx(1.0 / 1.1, rel=1e-6)
    n = round(study.assessment.settings.window * study.case.sample_rate)
    windows = np.lib.stride_tricks.sliding_window_view(study.case.command, n)
    # of a window the amplitude is that of a sine of the same power; of chords, the faster frequency weighs more
    overshoot = 0.1 * np.sqrt(2.0 * np.max(np.var(windows, axis=1)))
    assert found["largest_overshoot"].ours == pytest.approx(1e3 * overshoot, rel=0.05)
    assert found["largest_overshoot"].ours < found["largest_overshoot"].printed


def test_case_iii(figures):
    _, found = figures("iii")
    assert (found["overshoot"].printed, found["undershoot"].printed) == (10.0, 25.0)
    assert found["overshoot"].ours == pytest.approx(10.0, abs=0.2)
    assert found["undershoot"].ours == pytest.approx(25.0, abs=0.2)
    assert 5.0 < found["switch_time"].ours < 6.0


def test_case_iv_is_read_where_the_paper_reads_it(figures):
    study, found = figures("iv")
    case = study.case
    near = np.abs(case.time - 14.35) <= 0.25 / case.frequency
    # the actuator's own: a gain of 1.0042
    overshoot = 1e3 * 0.0042 * np.abs(case.command[near]).max()
    assert found["overshoot_seen"].ours == pytest.approx(overshoot, abs=0.01)
    assert found["overshoot"].ours == pytest.approx(found["overshoot"].printed, abs=0.03)
    assert found["delay"].ours == pytest.approx(2e3 / 1024.0, abs=0.02)
    assert "14.35 s" in found["overshoot"].where and found["overshoot"].unit == "mm"


def test_case_vii_is_read_where_the_paper_reads_it(figures):
    _, found = figures("vii")
    # 2 ms at 5.5 rad/s; the paper rounds on the way
    assert found["phase_deg"].ours == pytest.approx(-math.degrees(0.002 * 5.5), abs=0.1)
    assert found["delay"].ours == pytest.approx(2.0, abs=0.2)
    assert found["lead_until"].ours == pytest.approx(16.5, abs=0.2)
    assert found["lag_until"].ours == pytest.approx(21.0, abs=0.2)
    assert "19.53 s" in found["phase_deg"].where


@pytest.mark.parametrize("name", ["v", "v-uniform"])
def test_case_v_with_either_noise(figures, name):
    study, found = figures(name)
    assert study.case.name == name
    assert found["ratio"].ours == pytest.approx(0.5, rel=0.01)
    assert found["phase"].ours == pytest.approx(math.pi * 25.0 / 1024.0, abs=0.004)
    assert found["phase"].printed == -0.077 and "command less measured" in found["phase"].remark


def test_uniform_noise_is_milder_than_gaussian(figures):
    (gaussian, _), (uniform, _) = figures("v"), figures("v-uniform")
    # deviations of 1 and 1/sqrt(12)
    spread = [np.nanstd(study.values("paei_phase")) for study in (gaussian, uniform)]
    assert spread[0] / spread[1] == pytest.approx(math.sqrt(12.0), rel=0.5)


def test_case_vi(figures):
    _, found = figures("vi")
    assert found["phase_deg"].printed == -15.82 and "misprint" in found["phase_deg"].remark
    assert found["fdb_ratio"].ours == pytest.approx(1.25, rel=5e-4)
    assert found["fdb_phase_deg"].ours == pytest.approx(math.degrees(0.369 - 0.092), abs=0.05)
    assert found["fei_phase_deg"].ours == pytest.approx(math.degrees(0.369 - 0.092), rel=1e-3)
