"""Collectives of which each member runs by itself: by algorithms of the user's own, and on links that differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evo_libra.chakra.trace import CollectiveType, Kind, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node, write_traces
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.files.source import read_source
from evo_libra.timing.collectives.phase import Implementation, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.input_files.algorithm_files import read_own_algorithms
from evo_libra.timing.machine import Machine
from evo_libra.timing.own_algorithms import OwnAlgorithms
from evo_libra.timing.traces.execute import execute
from evo_libra.validation.astra import links_of

AR = CollectiveType.ALL_REDUCE


def ring(npus: int, name: str = "direct", own: OwnAlgorithms | None = None) -> Machine:
    """A ring with links of 1 byte per ns and 100 ns."""
    links = links_of({"topology": ["Ring"], "npus_count": [npus], "bandwidth": [1e9 / 2**30], "latency": [100.0]})
    row = [Implementation.read(name)]
    system = System(dict.fromkeys(Collective, row), 1, 1, shrinking=True, overheads=Overheads(10.0, 1600.0))
    return Machine(links, system, algorithms=own or OwnAlgorithms())


def test_members_on_links_that_differ() -> None:
    """A direct all-gather of 1,000 bytes of NPUs 0 to 2 of a ring of 4, by hand; 0 and 2 are two links apart.

    A message leaves after 10 ns, takes 1,100 or 1,200 ns, and 10 ns follow the last one that comes.
    """
    node = collective_node(5, "", CollectiveType.ALL_GATHER, 1000, group="1")
    idle = [compute_node(0, "", duration=0)]
    found = execute([[node], [node], [node], idle], {"1": (0, 1, 2)}, ring(4))
    assert found.finish.tolist() == [1220, 1120, 1220, 1]


def own(folder: Path, places: list[list[Node]], splits: int = 1, **more: object) -> OwnAlgorithms:
    write_traces(folder / "mine", places)
    system = {"preferred-dataset-splits": splits, "all-reduce-implementation-custom": ["mine"], **more}
    (folder / "system.json").write_text(json.dumps(system))
    return read_own_algorithms(read_source(folder / "system.json"))


def between(source: int, target: int) -> dict[str, int]:
    return {"source": source, "destination": target, "size": 1000, "tag": 0}


PLACES = [
    [send_node(0, "", **between(0, 1)), receive_node(1, "", **between(1, 0))],
    [
        receive_node(0, "", **between(0, 1)), compute_node(1, "", duration=2, data=[0]),
        send_node(2, "", data=[1], **between(1, 0)),
    ],
]  # fmt: skip


def test_an_algorithm_of_ones_own(tmp_path: Path) -> None:
    """NPU 0 sends for 1,100 ns, NPU 1 reduces for 2,000 ns and sends back: 4,200 ns."""
    node = collective_node(1, "", AR, 4000)
    machine = ring(2, own=own(tmp_path, PLACES))
    assert execute([[node]] * 2, {}, machine).finish.tolist() == [4200, 4200]
    late = [compute_node(0, "", duration=5), replace(node, control=(0,))]
    assert execute([[node], late], {}, machine).finish.tolist() == [8100, 8100]
    # NPU 0 has sent its message long before NPU 1 comes: NPU 1 finds it at 5,000.


def test_a_member_ends_before_others_come(tmp_path: Path) -> None:
    """Without a message to wait for, NPU 0 ends after 1,100 ns, and sends what NPU 1 waits for before it comes."""
    node, message = collective_node(1, "", AR, 4000), {**between(0, 1), "tag": 1}
    machine = ring(2, own=own(tmp_path, [[PLACES[0][0]], [PLACES[1][0]]]))
    traces = [
        [node, send_node(2, "", data=[1], **message)],
        [receive_node(0, "", **message), replace(node, control=(0,))],
    ]
    assert execute(traces, {}, machine).finish.tolist() == [2200, 2200]


@pytest.mark.parametrize(
    ("places", "splits", "part"),
    [
        (PLACES, 4, "preferred-dataset-splits: found 4; with an algorithm of one's own ASTRA-sim runs one chunk"),
        ([[Node(0, kind=Kind.METADATA)]], 1, "node 0 is a METADATA; an algorithm has COMM_SEND, COMM_RECV and COMP"),
    ],
)
def test_algorithms_that_cannot_run(places: list[list[Node]], splits: int, part: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        own(tmp_path, places, splits)
    assert part in str(caught.value)


def test_messages_that_never_come(tmp_path: Path) -> None:
    node = collective_node(1, "", AR, 4000)
    for places, part in (
        ([[PLACES[0][1]], [PLACES[1][0]]], "never ends by the algorithm mine: NPU 0 waits for a message"),
        (PLACES[:1], "has 2 NPUs, and the algorithm mine 1 trace"),
        (
            [[send_node(0, "", **between(0, 7))]] * 2,
            "has 2 members, and the algorithm mine sends to or receives from place 7",
        ),
    ):
        folder = tmp_path / str(len(part))
        folder.mkdir()
        with pytest.raises(InputError, match=part):
            execute([[node]] * 2, {}, ring(2, own=own(folder, places)))


def test_algorithms_of_nodes_come_first(tmp_path: Path) -> None:
    (tmp_path / "nodes.yml").write_text("7: other\n")
    write_traces(tmp_path / "other", [[PLACES[0][0]], [PLACES[1][0]]])
    found = own(tmp_path, PLACES, **{"per-node-custom-implementation": "nodes.yml"})
    assert (found.of(Collective.ALL_REDUCE, 7), found.of(Collective.ALL_REDUCE, 8)) == ("other", "mine")
    assert found.of(Collective.ALL_TO_ALL, 8) == ""
