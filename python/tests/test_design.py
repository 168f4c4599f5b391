"""Design of measurements: ask and tell, states, what is refused."""

import numpy as np
import pytest

import gaussmith as gs


def model(dimension=30, scale=0.2):
    return gs.Model(gs.NoGaussian(dimension), sites=[gs.observe("laplace", np.zeros(dimension), scale=scale)])


def truth(dimension=30):
    draw = np.random.default_rng(2)
    return draw.choice([-1, 1], dimension) * 0.2 * draw.exponential(size=dimension)


def test_ask_and_tell():
    signal = truth()
    session = gs.DesignSession(model(), noise_variance=0.001, threads=1)
    session.tell(gs.random_rows(5, 30) @ signal, gs.random_rows(5, 30))
    before = np.linalg.norm(session.mean - signal)
    for _ in range(8):
        proposal = session.ask(2)
        assert proposal.rows.shape == (2, 30)
        np.testing.assert_allclose(np.linalg.norm(proposal.rows, axis=1), 1.0)
        covariance = proposal.rows @ session.covariance_times(proposal.rows.T)
        assert proposal.gain == pytest.approx(0.5 * np.linalg.slogdet(np.eye(2) + covariance / 0.001)[1])
        assert session.gain(proposal.rows) == pytest.approx(proposal.gain)
        session.tell(proposal.rows @ signal)
    assert np.linalg.norm(session.mean - signal) < before
    assert session.rows.shape == (21, 30)
    assert session.posterior().log_evidence == pytest.approx(session.log_evidence)
    np.testing.assert_allclose(session.posterior().weights_mean, session.mean, atol=1e-6)
    assert "21" in repr(session)


def test_states_go_on(tmp_path):
    signal = truth()
    options = dict(noise_variance=0.01, rule="eigen", refit=2, threads=1)
    session = gs.DesignSession(model(), "vb", **options)
    session.tell(gs.random_rows(6, 30) @ signal, gs.random_rows(6, 30))
    session.tell(session.ask(1).rows @ signal)
    session.save(tmp_path / "run.state")
    again = gs.DesignSession(model(), "vb", **options, state=tmp_path / "run.state")
    assert np.array_equal(again.ask(3).rows, session.ask(3).rows)
    with pytest.raises(gs.InvalidFile, match="another run"):
        gs.DesignSession(model(), "kl", **options, state=tmp_path / "run.state")


def test_candidates_and_groups():
    signal = truth()
    rows = np.random.default_rng(4).standard_normal((20, 30))
    session = gs.DesignSession(model(), noise_variance=0.01, candidates=rows, groups=[range(i, i + 4) for i in range(0, 20, 4)])
    proposal = session.ask(2)
    expected = np.concatenate([rows[4 * group : 4 * group + 4] for group in proposal.chosen])
    assert np.array_equal(proposal.rows, expected)
    session.tell(expected @ signal)
    assert not set(session.ask(3).chosen) & set(proposal.chosen)
    with pytest.raises(gs.InvalidInput, match="3 are left"):
        session.ask(4)


def test_what_is_refused():
    with pytest.raises(gs.InvalidInput, match="noise variance"):
        gs.DesignSession(model(), noise_variance=0.0)
    session = gs.DesignSession(model(), noise_variance=0.1)
    with pytest.raises(gs.InvalidInput, match="no rows are proposed"):
        session.tell([1.0])
    session.ask(2)
    with pytest.raises(gs.InvalidInput, match="2 rows were proposed"):
        session.tell([1.0])
    with pytest.raises(gs.InvalidInput, match="finite"):
        session.tell([1.0, np.inf])


def test_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    grey = np.linspace(0, 1, 12).reshape(3, 4)
    gs.write_png(tmp_path / "a.png", grey)
    with image.open(tmp_path / "a.png") as read:
        assert read.mode == "L"
        assert np.array_equal(np.asarray(read), np.round(255 * grey))
    (tmp_path / "a.pgm").write_text("P2 2 1 4\n1 4\n")
    assert gs.read_pgm(tmp_path / "a.pgm").tolist() == [[0.25, 1.0]]
