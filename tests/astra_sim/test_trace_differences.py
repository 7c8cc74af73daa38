"""A reason why traces take another time by the engine than by the model, in words and for programs."""

from __future__ import annotations

from evo_libra.astra_sim.trace_differences import TraceDifference

REASON = TraceDifference("late", "small", "The members begin apart.", "An iteration takes", engine=0.0125, model=0.01)


def test_both_times_are_in_ms() -> None:
    text = "The members begin apart. An iteration takes 12.5 ms by the engine of traces and 10 ms by the model."
    assert REASON.sentences == text
    assert str(REASON) == f"difference in small: {text} [late]"
    assert REASON.json() == {
        "difference": "late", "workload": "small", "sentence": text, "engine_ms": 12.5, "model_ms": 10.0,
    }  # fmt: skip


def test_a_design_without_a_time_by_the_engine_has_that_of_the_model() -> None:
    one = TraceDifference("no-engine-time", "small", "There is none.", "An iteration takes", engine=None, model=0.01)
    assert one.sentences == "There is none. An iteration takes 10 ms by the model."
    assert one.json()["engine_ms"] is None
