"""The schema of a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, field_serializer

from evo_libra.files.fields import Degree, Late, NotNegative, PositiveFloat, PositiveInt
from evo_libra.files.source import StrictModel
from evo_libra.network.catalog.link_layers import RoutingName, TransportName
from evo_libra.network.catalog.parts_spec import DomainSize
from evo_libra.network.catalog.technologies import BlockName, Name
from evo_libra.problem.figures import TotalCostOfOwnership
from evo_libra.problem.file.memory_spec import MemorySpec
from evo_libra.problem.file.uncertainty_spec import UncertaintySpec, WeightSpec
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.question import question_of
from evo_libra.problem.time_models.registry import TIME_MODELS
from evo_libra.timing.names import ALGORITHMS, LONGEST_ENDPOINT_NS, MOST_CHUNKS, POLICIES, SCHEDULERS

if TYPE_CHECKING:
    from evo_libra.problem.faults import Faults
    from evo_libra.problem.file.hardware_spec import Npu, SystemSpec
    from evo_libra.problem.file.serving_spec import ServingSpec
    from evo_libra.problem.file.training_spec import Generator, TrainingSpec
    from evo_libra.workload.models.generic import RoutedWeights, Weights
else:
    Faults = Annotated[Any, Late("evo_libra.problem.faults", "Faults")]
    Generator = Annotated[Any, Late("evo_libra.problem.file.training_spec", "Generator")]
    Npu = Annotated[Any, Late("evo_libra.problem.file.hardware_spec", "Npu")]
    RoutedWeights = Annotated[Any, Late("evo_libra.workload.models.generic", "RoutedWeights")]
    ServingSpec = Annotated[Any, Late("evo_libra.problem.file.serving_spec", "ServingSpec")]
    SystemSpec = Annotated[Any, Late("evo_libra.problem.file.hardware_spec", "SystemSpec")]
    TrainingSpec = Annotated[Any, Late("evo_libra.problem.file.training_spec", "TrainingSpec")]
    Weights = Annotated[Any, Late("evo_libra.workload.models.generic", "Weights")]

MAX_DIMENSIONS = 8


class PinSpec(StrictModel):
    """Fixed properties of one dimension."""

    dimension: int = Field(ge=0, lt=MAX_DIMENSIONS, description="which dimension; 0 is the innermost")
    npus: int | None = Field(None, ge=2, description="its size")
    block: BlockName | None = Field(None, description="its building block")
    technology: str | None = Field(None, description="its technology")
    bandwidth_GBps: PositiveFloat | None = Field(None, description="its bandwidth per NPU in GB/s")


Ratio = Annotated[int, Field(ge=1, le=8)]


class FabricSpec(StrictModel):
    """The networks that may be built."""

    catalog: str = Field(description="name of a catalogue (see `evo-libra catalog`), or the path of a .yaml file")
    technologies: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="technologies that may be used, innermost first; all of the catalogue when left out",
    )
    blocks: tuple[BlockName, ...] | None = Field(
        None,
        min_length=1,
        description="building blocks that may be used; every block of the technologies when left out",
    )
    oversubscription: tuple[Ratio | tuple[Ratio, Ratio], ...] = Field(
        (),
        description="oversubscribed fat trees that are offered besides 1:1, as links down over links up: of leaves, "
        "or of leaves and pods, such as [2, 4, 8, [1, 7]]",
    )
    domains: Literal["products", "any"] | dict[Name, Annotated[tuple[DomainSize, ...], Field(min_length=1)]] = Field(
        "products",
        description="sizes of the domains of a technology of parts: those that are sold (`products`), `any` that can "
        "be built, or some sizes of a technology each, such as {nvlink4: [8, 256]}",
    )
    transport: dict[Name, TransportName | Annotated[tuple[TransportName, ...], Field(min_length=1)]] = Field(
        {},
        description="congestion control of RoCE on a technology of Ethernet, such as {roce-400g: dcqcn}; from a list "
        "the search chooses one for each dimension. An approximation: ordering only",
    )
    routing: (
        Literal["by-link-layer"] | dict[Name, RoutingName | Annotated[tuple[RoutingName, ...], Field(min_length=1)]]
    ) = Field(
        {},
        description="routing between the switches of fat trees, such as {roce-400g: ecmp}; from a list the search "
        "chooses one for each dimension. `by-link-layer` is adaptive on InfiniBand and ecmp on Ethernet. When left "
        "out, links fill evenly. Under astra and themis",
    )
    flows_per_pair: Annotated[int, Field(ge=1, le=1024)] = Field(
        1,
        description="flows that each message between two NPUs is split into, where ecmp hashes them; NCCL opens 1 "
        "(NCCL_IB_QPS_PER_CONNECTION)",
    )
    lossless_usd_per_port: NotNegative = Field(
        0.0,
        description="price of the buffers that let a switch pause links, per port of switches under pfc, dcqcn and "
        "timely",
    )
    min_dimensions: int = Field(1, ge=1, le=MAX_DIMENSIONS, description="smallest number of dimensions")
    max_dimensions: int = Field(4, ge=1, le=MAX_DIMENSIONS, description="largest number of dimensions")
    one_dimension_per_technology: bool = Field(
        default=False, description="whether a technology serves at most one dimension"
    )
    shape: str | None = Field(None, description="pins the whole network, such as RI(4)_FC(8)@node_SW(32)@pod:20")
    pin: tuple[PinSpec, ...] = Field((), description="pins parts of single dimensions")


GroupName = Literal["tp", "cp", "ep", "pp", "vp", "dp"]
GroupDegree = tuple[GroupName, Degree]
"""A process group with its NPUs, or with those that the search may choose."""

Groups = dict[GroupName, Degree] | tuple[GroupDegree, ...]


def _each_once(groups: Groups) -> Groups:
    if len(dict(groups)) < len(groups):
        raise ValueError("a process group is named twice")
    return groups


def _named(model: object) -> object:
    """Return a model as the file has it; a generic one has a key of its own."""
    if isinstance(model, Mapping) and (key := next((one for one in ("dense", "moe") if one in model), None)):
        raise ValueError(f"`{key}` stands in the place of `model`, as in - {key}: {_GENERIC[key]}")
    return model


_GENERIC = {"dense": "1T", "moe": "{total: 2T, active: 64B}"}


class WorkloadSpec(StrictModel):
    """One workload, which is defined by one of model, dense, moe, file, trace and generator.

    The order of process groups says which of them is the innermost. Files may write them as a mapping. Stored and
    compared data have them as a list, since a mapping has no order.
    """

    name: str | None = Field(None, description="name in results; the name of the model or file when left out")
    model: Annotated[str, BeforeValidator(_named)] | None = Field(
        None, description="a model of the catalogue, such as gpt-3-libra"
    )
    dense: Weights | None = Field(
        None, description="a generic model by its number of weights, such as 1T, whose shape follows from rules"
    )
    moe: RoutedWeights | None = Field(
        None, description="a generic model with experts by its numbers of weights, such as {total: 2T, active: 64B}"
    )
    file: str | None = Field(
        None,
        description="an ASTRA-sim 1.0 text workload, or with `training` or `serving` a Hugging Face config.json, "
        "relative to the problem file",
    )
    trace: str | None = Field(
        None, description="Chakra traces: one file for all NPUs, or the PREFIX of files PREFIX.<npu>.et"
    )
    groups: str | None = Field(None, description="JSON file of the communicator groups of a trace")
    generator: Generator | None = Field(None, description="hyper-parameters of a model of your own")
    training: TrainingSpec | None = Field(
        None, description="trains a language or recommendation model as a whole on the problem's `npu`"
    )
    serving: ServingSpec | None = Field(
        None, description="answers requests with a language model on the problem's `npu`"
    )
    parallelism: Annotated[Groups, AfterValidator(_each_once)] = Field(
        {},
        description="NPUs in each process group, innermost first, as a mapping or a list such as [[tp, 8], [ep, 64]]; "
        "dp has the remaining NPUs when it is left out; cp, pp and vp, the virtual stages of a pipeline, belong to "
        "`training`, whose order says how groups lie; of a list, or of `any`, the search chooses",
    )
    compute_TFLOPS: PositiveFloat | None = Field(
        None, description="compute rate of one NPU in TFLOP/s, for generated models and traces with a roofline"
    )
    memory_GBps: PositiveFloat | None = Field(
        None, description="memory bandwidth of one NPU, for traces with a roofline"
    )
    compute_scale: PositiveFloat | None = Field(
        None, description="factor on recorded compute times, for files, tables and traces; 1 when left out"
    )
    tp_domain: Literal["scale-up", "any"] | None = Field(
        None,
        description="what holds the tensor parallel group of a table of layers: a scale-up domain, whose NPUs load and "
        "store from each other, or any NPUs, as in LIBRA and when left out; a training step has `training.tp_domain`",
    )
    weight: PositiveFloat | WeightSpec = Field(1.0, description="weight of its time: a number, or low, value and high")

    @field_serializer("parallelism")
    def _ordered(self, groups: Groups) -> list[list[Any]]:
        return [list(pair) for pair in dict(groups).items()]


def ordered(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a valid problem file with the order of process groups where no tool can lose it."""
    workloads = [
        {**one, "parallelism": [list(pair) for pair in groups.items()]} if isinstance(groups, dict) else one
        for one in data["workloads"]
        for groups in [one.get("parallelism")]
    ]
    return {**data, "workloads": workloads}


def settable(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a valid problem file with process groups as a mapping, whose values have keys to set."""
    workloads = [
        {**one, "parallelism": dict(groups)} if isinstance(groups, list) else one
        for one in data["workloads"]
        for groups in [one.get("parallelism")]
    ]
    return {**data, "workloads": workloads}


def with_stated_shares(data: Mapping[str, Any], identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a problem file with LIBRA's shares, where it is of a version that knew no others of prices.

    The identity of a problem of prices names physical shares, and no technology there has a kit of parts. Traces have
    no shares to state.
    """
    time = data.get("time", "libra")
    stated = isinstance(time, Mapping) and time.get("shares") is not None
    stated |= any("trace" in workload for workload in data["workloads"])
    parts = any("kit" in technology for technology in identity.get("technologies", ()))
    if stated or parts or "shares" in identity or "technologies" not in identity:
        return dict(data)
    return {**data, "time": {**({"model": time} if isinstance(time, str) else time), "shares": "libra"}}


if TYPE_CHECKING:
    SchedulerName: TypeAlias = str
    AlgorithmName: TypeAlias = str
    PolicyName: TypeAlias = str
    TimeModelName: TypeAlias = str
else:
    SchedulerName, AlgorithmName, PolicyName = Literal[SCHEDULERS], Literal[ALGORITHMS], Literal[tuple(POLICIES)]
    TimeModelName = Literal[TIME_MODELS]
Efficiency = Annotated[float, Field(gt=0, le=1)]
Chunks = Annotated[int, Field(ge=1, le=MOST_CHUNKS)]
Shares = Literal["physical", "libra"]


class TimeSpec(StrictModel):
    """Model of the iteration time; the keys from `chunks` on belong to astra and themis."""

    model: TimeModelName = Field(
        "libra",
        description="libra: bandwidth only, perfect pipelining; astra: ASTRA-sim's, to the nanosecond; themis: astra "
        "with Themis's scheduler",
    )
    overlap: Literal["none", "tp-dp"] = Field(
        "none", description="tp-dp overlaps the collectives of the input gradient with the weight gradient's work"
    )
    weights: Literal["absolute", "normalised"] = Field(
        "absolute",
        description="normalised divides each weight by the workload's compute time, so a long workload does not "
        "hide the others; tokens per second are then those of workloads with as much compute time each",
    )
    shares: Shares | None = Field(
        None,
        description="what a process group gets of the bandwidth of its NPUs: physical, the default, what the links of "
        "its block carry while all groups communicate; libra: all of it, as in LIBRA's study, where a technology has a "
        "price per bandwidth; parts carry what they carry, and so does everything in a problem with a trace",
    )
    chunks: Chunks | Annotated[tuple[Chunks, ...], Field(min_length=1)] | None = Field(
        None, description="parts that a collective is cut into, 64 when left out; from a list the search chooses one"
    )
    scheduler: SchedulerName | Annotated[tuple[SchedulerName, ...], Field(min_length=1)] | None = Field(
        None,
        description="how chunks choose the order of dimensions: baseline when left out, or offline-greedy with themis; "
        "from a list the search chooses one",
    )
    algorithms: Literal["natural", "search"] | dict[BlockName, AlgorithmName] | None = Field(
        None,
        description="algorithm of each block; natural, the default: ring on rings, direct on fully connected "
        "dimensions, halving-doubling on switches; search: the search chooses for each dimension",
    )
    efficiency: Efficiency | dict[str, Efficiency] | None = Field(
        None,
        description="part of the bandwidth that traffic reaches, one number or one for each technology; when left out "
        "1, or where some workload is a training step what was measured on the ports of the problem's `npu`, for all "
        "workloads",
    )
    latency_ns: NotNegative | dict[str, NotNegative] | None = Field(
        None, description="latency of a link, one number or one for each technology; needed if the catalogue has none"
    )
    latency_occupies: bool | None = Field(
        None,
        description="whether a phase keeps its dimension busy for its latency, too, as in ASTRA-sim, the default; "
        "false: latency only delays the chunk, as always under themis-paper; for baseline, themis-paper and ideal",
    )
    endpoint_delay_ns: Annotated[int, Field(ge=0, le=LONGEST_ENDPOINT_NS)] | None = Field(
        None, description="delay before each message; 10 when left out"
    )
    local_memory_GBps: PositiveFloat | None = Field(
        None,
        description="bandwidth of the memory that reductions read and write; when left out, reductions take no time",
    )
    message_bandwidth: Literal["npu", "link"] | None = Field(
        None,
        description="bandwidth of a single message through a switch: npu, the default, is all that an NPU sends there; "
        "link is one link of ASTRA-sim; an NPU of n that run direct has n - 1 of them",
    )
    ocs_setting_us: NotNegative | None = Field(
        None,
        description="time in which an optical circuit switch is set; where traffic needs circuits of several kinds on "
        "a dimension, it counts for each collective and message there, which is an upper bound; where circuits can "
        "stay, or when left out, it does not count",
    )
    active_chunks: Chunks | None = Field(
        None, description="chunks that a dimension runs at a time, each at full bandwidth; 1 when left out"
    )
    collective_optimization: Literal["local-bandwidth-aware", "baseline"] | None = Field(
        None,
        description="local-bandwidth-aware, the default: an all-reduce scatters inwards and gathers "
        "outwards; baseline: it runs whole in each dimension",
    )
    policy: PolicyName | None = Field(
        None,
        description="which chunk a dimension takes first: first-come when left out, or smallest-first with a Themis "
        "scheduler",
    )


if TYPE_CHECKING:
    ObjectiveName: TypeAlias = str
else:
    ObjectiveName = Literal[tuple(MEASURES)]


class BandwidthSpec(StrictModel):
    """Choice of bandwidth."""

    mode: Literal["search", "optimal", "ports"] = Field(
        "search",
        description="search: bandwidths are genes; optimal: they are solved for, exactly, in each evaluation; ports: "
        "they are genes, in whole ports of a catalogue of parts",
    )
    min_GBps: NotNegative | None = Field(
        None,
        description="smallest bandwidth per NPU of a dimension; may be 0 where it is solved for; when left out "
        "0.1, or one port of parts",
    )
    max_GBps: PositiveFloat | None = Field(
        None,
        description="largest bandwidth per NPU of a dimension; when left out 1000, or all ports of parts",
    )


class SearchSpec(StrictModel):
    """Defaults of the search; the command line overrides them."""

    engine: str = Field(
        "auto",
        description="the engine: auto, nsga2, nsga3, smsemoa, random, exhaustive, optimize, pymoo:NAME, deap:NAME or "
        "module:object; auto evaluates all designs of whole ports where that is cheaper than the evaluations, and is "
        "otherwise smsemoa for a small population and nsga2 for a large one",
    )
    evaluations: PositiveInt = Field(50_000, description="designs to evaluate")
    population: int = Field(
        650, ge=4, le=1_000_000, description="designs per generation; late in a long search nsga2 has more"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the random numbers")
    memetic: Annotated[float, Field(ge=0, le=0.5)] | None = Field(
        None,
        description="share of the evaluations that give designs better bandwidths, where these can be solved for; "
        "0 for none; when left out, the share that pays off for the engine",
    )
    epsilon: Annotated[float, Field(ge=0, le=0.1)] | None = Field(
        None,
        description="of designs whose objectives all differ by less than this share the front has one; 0 for all "
        "designs; when left out, 0.0001 with bandwidths that are numbers, and 0 else",
    )


class SharedSpec(StrictModel):
    """Keys of the files of both questions: the best system to make, and the best one to buy."""

    version: Literal[1] = Field(1, description="version of this schema")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="name, also of the folder of results")
    memory: MemorySpec = Field(MemorySpec(), description="how much of an NPU's memory plans may use")
    workloads: tuple[WorkloadSpec, ...] = Field(min_length=1, description="the workloads that run on it")
    time: TimeModelName | TimeSpec = Field("libra", description="how iteration time is modelled")
    uncertainty: UncertaintySpec = Field(UncertaintySpec(), description="scenarios of uncertain prices and weights")
    tco: TotalCostOfOwnership | None = Field(
        None,
        description="figures of the total cost of ownership; needed for the objective and constraints of that name",
    )
    constraints: tuple[Annotated[str, Field(max_length=2000)], ...] = Field(
        (),
        max_length=1000,
        description="limits of bandwidths and objectives, such as `sum(bw) <= 1000 GB/s`, `bw[0] >= bw[1]` or "
        "`power <= 2 MW`",
    )
    search: SearchSpec = Field(SearchSpec(), description="how the search runs")


class ProblemSpec(SharedSpec):
    """A problem file that asks for a design: which shape, technologies and bandwidths a system should have."""

    question: Literal["design"] = Field(
        "design", description="design: of a system that does not exist yet; a file that asks for an `order` names "
        "products, and has other keys"
    )  # fmt: skip
    npus: int = Field(ge=2, le=10**9, description="number of NPUs")
    npu: Npu | None = Field(
        None,
        description="the accelerator, for training steps and serving: a name (see `evo-libra catalog`), or figures of "
        "your own. Its measured rates of ports hold for tables of layers, too. With a list, the search chooses an "
        "accelerator for each design",
    )
    fabric: FabricSpec = Field(description="the networks that may be built")
    objectives: tuple[ObjectiveName, ...] = Field(
        ("time", "cost"),
        min_length=1,
        description="the objectives, all minimised; time-cost is the inverse of performance per cost, cost.p95 a "
        "statistic over scenarios",
    )
    system: SystemSpec | None = Field(
        None, description="everything besides network and accelerators: hosts and storage"
    )
    faults: Faults | None = Field(
        None, description="failures, checkpoints and spares; needed for the objectives and constraints under failures"
    )
    bandwidth: Literal["search", "optimal", "ports"] | BandwidthSpec = Field(
        "search", description="how bandwidth is chosen"
    )


def asks_for_order(data: object) -> bool:
    """Return whether the data of a problem file ask for an order."""
    return question_of(data) == "order"
