"""A clock and stages that work one after the other: times of a few things by hand."""

from __future__ import annotations

from evo_libra.workload.serving.request_queue import Clock, RequestQueue


def run(stages: int, *things: tuple[float, list[float]]) -> list[tuple[int, float]]:
    """Return which things are through and when, of things that come at times and take seconds in each stage."""
    clock, through = Clock(), list[tuple[int, float]]()
    queue = RequestQueue(clock, stages)

    def come(number: int, seconds: list[float]) -> None:
        queue.enter(lambda: (seconds, lambda: through.append((number, clock.now))))

    for number, (time, seconds) in enumerate(things):
        clock.at(time, lambda number=number, seconds=seconds: come(number, seconds))  # type: ignore[misc]
    while clock.advance():
        pass
    assert queue.left == 0
    return through


def test_events_of_the_same_time_keep_their_order() -> None:
    clock, found = Clock(), list[str]()
    for time, name in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        clock.at(time, lambda name=name: found.append(name))  # type: ignore[misc]
    assert [clock.advance() for _ in range(4)] == [True, True, True, False]
    assert (found, clock.now) == (["a", "b", "c"], 2.0)


def test_the_first_stage_takes_the_next_thing_as_soon_as_it_is_free() -> None:
    # Stages of 2 and 3 s: the first is through at 5. The second begins at 2, waits for the second stage until 5, and is
    # through at 8; a third one that comes at 10 is not delayed.
    assert run(2, (0.0, [2.0, 3.0]), (0.0, [2.0, 3.0]), (10.0, [2.0, 3.0])) == [(0, 5.0), (1, 8.0), (2, 15.0)]


def test_a_slow_first_stage_sets_the_pace() -> None:
    assert run(2, (0.0, [4.0, 1.0]), (1.0, [4.0, 1.0])) == [(0, 5.0), (1, 9.0)]


def test_nothing_overtakes() -> None:
    assert run(2, (0.0, [1.0, 5.0]), (0.0, [1.0, 0.0])) == [(0, 6.0), (1, 6.0)]


def test_what_is_in_the_queue_is_left_until_it_is_through() -> None:
    clock = Clock()
    queue = RequestQueue(clock, 3)
    for _ in range(2):
        queue.enter(lambda: ([1.0, 1.0, 1.0], lambda: None))
    assert (len(queue), queue.left) == (3, 2)
    while queue.left == 2 and clock.advance():
        pass
    assert clock.now == 3.0
