"""Every reader on its samples and on what is nearly one, and the problems that come out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_samples import matrix, table, topology

from evo_libra.errors import InputError
from evo_libra.exchange import samples
from evo_libra.exchange.conformance import faults
from evo_libra.exchange.formats import Draft, Reader
from evo_libra.exchange.problem_text import made_of, problem_text
from evo_libra.exchange.registry import PACKAGED, read_text_as, readers
from evo_libra.files.source import parse_source
from evo_libra.problem.file.registry import load_problem
from evo_libra.searching.generations import search
from evo_libra.validation.training import seconds_of, setup_of, training_rows, without_factor

NAMED = {reader.name: reader for reader in PACKAGED}
MODELS = ("hugging-face", "megatron-arguments", "nemo", "calculon-application")


def made(*names: str, **given: Any) -> dict[str, Any]:
    drafts = {name: read_text_as(NAMED[name].samples[0], name)[1] for name in names}
    return dict(made_of(drafts, "some", **given).data)


@pytest.mark.slow
@pytest.mark.parametrize("reader", PACKAGED, ids=lambda reader: reader.name)
def test_readers_survive_mutations(reader: Reader) -> None:
    assert faults(reader, 30) == []


@pytest.mark.slow
@pytest.mark.parametrize("reader", PACKAGED, ids=lambda reader: reader.name)
def test_readers_survive_two_thousand_mutations(reader: Reader) -> None:
    assert faults(reader, 2000) == []


@pytest.mark.slow
def test_a_reader_that_fails_is_found_out() -> None:
    reader = NAMED["calculon-application"]
    careless = replace(reader, read=lambda source: Draft({"layers": int(source.data["num_blocks"])}))
    assert any("Error" in fault for fault in faults(careless, 300))
    assert any("not recognised" in fault for fault in faults(replace(reader, recognise=lambda _: False), 0))
    assert faults(replace(reader, samples=()), 0) == ["calculon-application has no samples"]


@pytest.mark.parametrize("reader", PACKAGED, ids=lambda reader: reader.name)
def test_every_sample_is_recognised_as_its_own_format(reader: Reader) -> None:
    for sample in reader.samples:
        assert read_text_as(sample, "file")[0] is reader
    assert readers()[reader.name] is reader


@pytest.mark.parametrize("name", MODELS)
def test_problems_of_samples_load(name: str) -> None:
    problem = load_problem(made(name, npus=128))
    assert problem.name == "some"


@pytest.mark.slow
def test_accelerators_that_are_sold_make_an_order() -> None:
    data = made("hugging-face", npus=64)
    assert (data["question"], data["systems"], data["npus"]) == ("order", ["hgx-h100"], 64)
    assert data["objectives"] == ["time", "order-cost"]
    front = search(load_problem(data), evaluations=2000, seed=0)
    assert len(front)
    assert all(text.startswith("8 hgx-h100 / ") for text in front.frame["design"].to_list())


def test_domains_that_do_not_divide_a_number_make_about_as_many() -> None:
    # 8,200 / 72 = 113.9, and / 64 = 128.1; 8,192 is 128 racks of 64 NPUs in use.
    data = made("hugging-face", npus=8200, npu="gb300")
    assert (data["systems"], data["npus"]) == (["gb300-nvl72"], {"about": 8200})
    assert data["workloads"][0]["training"]["global_batch"] == {"about": 8200}
    assert made("hugging-face", npus=8192, npu="gb300")["npus"] == 8192


@pytest.mark.parametrize(("npu", "npus", "reason"), [
    ("tpu7x", 256, "tpu7x-slice has order: rent; limits.order allows buy"),
    ("h800-80gb", 64, "hgx-h800 was sold until 2023-10; the order is of 2026-11"),
    ("v100-32gb", 64, "no system of products-2026 carries v100-32gb"),
    ("b200", 4, "hgx-b200: no multiple of 8 lies between 4 and 4 NPUs; 8 = 1 x 8 is near"),
])  # fmt: skip
def test_what_cannot_be_ordered_makes_a_design_that_says_why(npu: str, npus: int, reason: str) -> None:
    drafts = {"model": read_text_as(NAMED["hugging-face"].samples[0], "model")[1]}
    found = made_of(drafts, "some", npus, npu)
    assert "question" not in found.data
    assert found.asked == f"a design: there is nothing to order, {reason}"
    with pytest.raises(InputError) as caught:
        made_of(drafts, "some", npus, npu, question="order")
    assert str(caught.value) == f"model: nothing can be ordered: {reason}"


def test_a_plan_keeps_its_number_of_npus() -> None:
    drafts = texts(model=NAMED["hugging-face"].samples[0], plan=NAMED["deepspeed"].samples[0])
    found = made_of(drafts, "some", npu="gb200", npus=2050)
    assert found.asked.endswith("the plan has 2,050 NPUs, which gb200-nvl72 do not make up exactly")


def test_a_script_is_read_without_running_it() -> None:
    data = made("megatron-arguments")
    workload = data["workloads"][0]
    assert data["npus"] == 128
    assert workload["generator"]["hidden"] == 12288
    assert workload["parallelism"] == {"tp": 8, "pp": 8, "vp": 4}
    text = "X=$(touch here)\n--num-layers $X --hidden-size $((2*8)) --num-attention-heads 8 --seq-length 8"
    with pytest.raises(InputError, match=r"job.sh:2:17: hidden-size: found '\$"):
        read_text_as(text, "job.sh")


def test_a_model_and_a_plan_of_deepspeed_make_a_problem() -> None:
    data = made("hugging-face", "deepspeed")
    training = data["workloads"][0]["training"]
    assert (data["npus"], training["zero"], training["global_batch"], training["overlap"]) == (64, 2, 512, {"dp": True})
    left = read_text_as(NAMED["deepspeed"].samples[0], "ds.json")[1].left
    assert not any("gradient_clipping" in sentence for sentence in left)
    assert any(sentence.startswith("ds.json: zero_optimization.offload_optimizer.device: ") for sentence in left)
    assert any("offload_optimizer.device: is not carried over" in sentence for sentence in left)


def test_files_that_differ_are_refused() -> None:
    drafts = {"a": Draft({"layers": 2}, npus=8), "b": Draft({"layers": 3}, npus=8)}
    with pytest.raises(InputError, match=r"b: generator.layers: found 3, and another file says 2"):
        made_of(drafts, "some")
    with pytest.raises(InputError, match="give --npus"):
        made_of({"a": Draft({"layers": 2})}, "some")
    with pytest.raises(InputError, match="no model"):
        made_of({"a": Draft(npus=8)}, "some")


@pytest.mark.parametrize(("text", "words"), [
    ('{"model_type": "rwkv"}', "'rwkv' is not supported"),
    ("a: 1", "is of no known format"),
    ('{"num_blocks": 0,\n "attn_heads": "x"}', "attn_heads: found 'x'"),
    ('{"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}', "divide it"),
])  # fmt: skip
def test_mistakes_are_told_with_their_place(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as found:
        read_text_as(text, "file.json")
    assert all(mistake.file == "file.json" for mistake in found.value.mistakes)


def calculon_files(row: Any) -> list[str]:
    replicas = row["npus"] // (row["tp"] * row["pp"])
    application = {
        "hidden": row["hidden"], "feedforward": row["feed_forward"], "seq_size": row["sequence"],
        "attn_heads": row["heads"], "attn_size": row["hidden"] // row["heads"], "num_blocks": row["layers"],
    }  # fmt: skip
    execution = {
        "num_procs": row["npus"], "tensor_par": row["tp"], "pipeline_par": row["pp"], "data_par": replicas,
        "batch_size": row["global_batch"], "microbatch_size": row["micro_batch"], "datatype": "float16",
        "activation_recompute": {"full": "full", "selective": "attn_only", "none": "none"}[row["recompute"]],
        "pipeline_interleaving": row["vp"], "optimizer_sharding": False, "training": True,
        "tensor_par_comm_type": "rs_ag" if row["sequence_parallel"] else "ar", "data_par_overlap": False,
    }  # fmt: skip
    return [json.dumps(application), json.dumps(execution), NAMED["calculon-system"].samples[0]]


@pytest.mark.parametrize("row", training_rows("korth"), ids=lambda row: row["id"])
def test_problems_of_calculon_evaluate_as_validate_states(row: Any) -> None:
    drafts = {str(place): read_text_as(text, str(place))[1] for place, text in enumerate(calculon_files(row))}
    problem = load_problem(dict(made_of(drafts, "some", question="design").data))
    servers = row["npus"] // 8
    design = "SW(8)@nvlink3:300" + (f"_CL({servers})@optics-200g:25" if servers > 1 else "")
    found = problem.evaluate(design).objectives[0, 0]
    setup = without_factor(setup_of(row))
    stated = seconds_of(row, replace(setup, stack=replace(setup.stack, hides_gather=False)))
    assert found == pytest.approx(stated, rel=1e-12)
    worst = max(
        abs(seconds_of(one, without_factor(setup_of(one))) / one["step_s"] - 1) for one in training_rows("korth")
    )
    assert abs(found / row["step_s"] - 1) <= worst


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=8), st.text(max_size=12) | st.integers() | st.booleans(), max_size=5))
def test_problem_files_say_what_they_were_made_of(data: dict[str, Any]) -> None:
    named = {f"k{key}": value for key, value in data.items() if key.isprintable()} | {"name": "2024", "on": "true"}
    named = {key: value for key, value in named.items() if not isinstance(value, str) or value.isprintable()}
    assert parse_source(problem_text(named, ["two\nlines"]), "file").data == named


@pytest.mark.slow
def test_the_command_writes_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from evo_libra.ui.commands.import_files import import_files  # noqa: PLC0415 - the command line takes a while

    script, out = tmp_path / "job.sh", tmp_path / "2024.yaml"
    script.write_text(NAMED["megatron-arguments"].samples[0] + " --rampup-batch-size 32")
    assert import_files(script, problem=out) == 0
    assert "left out:" in capsys.readouterr().out
    assert load_problem(str(out)).name == "2024"
    with pytest.raises(InputError, match="exists already"):
        import_files(script, problem=out)
    with pytest.raises(InputError, match="files are needed"):
        import_files()
    with pytest.raises(InputError, match="did you mean 'nemo'"):
        import_files(script, file_format="nemoo")


def texts(**named: str) -> dict[str, Draft]:
    return {name: read_text_as(text, name)[1] for name, text in named.items()}


def test_a_model_a_server_and_its_collectives_make_a_problem_that_is_searched() -> None:
    model = NAMED["hugging-face"].samples[0]
    data = made_of(texts(model=model, node=topology(), tests=table()), "own", nodes=16).data
    pin = {"dimension": 0, "npus": 8, "block": "switch", "technology": "nvlink4", "bandwidth_GBps": 450.0}
    assert (data["npus"], data["fabric"]["pin"]) == (128, [pin])
    assert data["time"]["efficiency"] == {"nvlink4": pytest.approx(360 / 450, abs=0.02), "optics-400g": 0.85}
    front = search(load_problem(dict(data)), evaluations=500, seed=0)
    assert len(front)
    assert all(text.startswith("SW(8)@nvlink4:450_") for text in front.frame["design"].to_list())


def test_collectives_between_servers_are_those_of_the_optics() -> None:
    model, many = NAMED["hugging-face"].samples[0], table(bus_GBps=300.0)
    many += "".join(f"#  Rank {at} Group  0 Pid 7 on other device {at - 8}\n" for at in range(8, 16))
    made_ = made_of(texts(model=model, node=topology(), tests=many), "own", nodes=4)
    assert made_.data["time"]["efficiency"]["optics-400g"] == pytest.approx(300 / 400, abs=0.02)
    assert any("NCCL's rings use each NIC of a server once" in sentence for sentence in made_.assumed)


def test_a_matrix_has_the_links_of_the_accelerator() -> None:
    drafts = texts(model=NAMED["hugging-face"].samples[0], node=matrix("NV12", 4))
    fabric = made_of(drafts, "own", nodes=2, npu="a100-80gb").data["fabric"]
    assert fabric["technologies"] == ["nvlink3", "optics-400g"]
    with pytest.raises(InputError, match=r"node: found 18 links of a GPU; nvlink3 has 12"):
        made_of(texts(model=NAMED["hugging-face"].samples[0], node=matrix("NV9", 3)), "own", nodes=2, npu="a100-80gb")


@pytest.mark.parametrize(("given", "sentence"), [
    ({"npus": 12}, "node: found 12 NPUs; servers of 8 GPUs are needed, all of each"),
    ({"nodes": 2, "npus": 16}, "--nodes and --npus both say how many NPUs there are"),
    ({}, "no file says how many NPUs there are; give --npus or --nodes"),
])  # fmt: skip
def test_servers_that_do_not_fit_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        made_of(texts(model=NAMED["hugging-face"].samples[0], node=topology()), "own", **given)


def test_measurements_that_do_not_fit_the_server_are_refused() -> None:
    model = NAMED["hugging-face"].samples[0]
    with pytest.raises(
        InputError, match=r"tests: Rank: found 8 ranks; servers of 4 GPUs|tests: Rank: found 8 ranks, of"
    ):
        made_of(texts(model=model, node=matrix("NV12", 4), tests=table()), "own", nodes=2)
    with pytest.raises(InputError, match=r"another file measures nvlink4, too"):
        made_of(texts(model=model, node=topology(), a=table(), b=table(10.0)), "own", nodes=2)
    with pytest.raises(InputError, match=r"node and more describe a server each"):
        made_of(texts(model=model, node=topology(), more=topology()), "own", nodes=2)


def test_a_model_of_an_unknown_architecture_is_refused_and_not_guessed() -> None:
    text = NAMED["hugging-face"].samples[0].replace('"llama"', '"lama"')
    with pytest.raises(
        InputError, match=r"config.json:1:\d+: model_type: unknown model_type 'lama'.* 'llama'\?; write"
    ):
        read_text_as(text, "config.json")


def test_keys_of_a_model_that_matter_and_were_not_read_are_listed() -> None:
    draft = read_text_as(NAMED["hugging-face"].samples[2], "config.json")[1]
    assert len(draft.left) == 2
    for key, sentence in zip(("n_group", "topk_group"), draft.left, strict=True):
        assert f": {key}: experts are chosen among all groups" in sentence
        assert "0 % of the weights" in sentence


def test_a_mistake_in_a_text_of_a_format_is_told_with_its_line() -> None:
    wrong = topology().replace('sm="90"', 'sm="h100"', 1)
    with pytest.raises(InputError, match=r"node.xml:\d+.*gpu.sm: found 'h100'"):
        read_text_as(wrong, "node.xml")


def test_older_formats_of_nccl_tests_have_their_own_columns() -> None:
    found = {name: read_text_as(getattr(samples, name), "out")[1].bus for name in vars(samples) if "NCCL_" in name}
    assert found == {
        "NCCL_ALL_GATHER": (2, pytest.approx(385.465e9)),
        "NCCL_BEFORE_ROOTS": (2, pytest.approx(14.695e9)),
        "NCCL_BEFORE_OPERATIONS": (2, pytest.approx(20.955e9)),
    }


def test_nemo_computes_sizes_from_others_and_says_what_it_assumes() -> None:
    draft = read_text_as(samples.NEMO_GPT3, "gpt3.yaml")[1]
    assert draft.generator["feed_forward"] == 4 * draft.generator["hidden"] == 49152
    llama = read_text_as(samples.NEMO_LLAMA, "llama.yaml")[1]
    assert llama.left == ("llama.yaml: trainer.precision: found 32; 'bf16' is assumed",)


@pytest.mark.parametrize(("change", "left"), [
    ("--recompute-method block", "recompute-method: found 'block'; 'uniform' is assumed"),
    ("--optimizer sgd", "optimizer: found 'sgd'; 'adam' is assumed"),
    ("--recompute-num-layers 4", "recompute-num-layers: found 4; 1 is assumed"),
])  # fmt: skip
def test_values_that_are_not_the_usual_ones_are_listed(change: str, left: str) -> None:
    draft = read_text_as(f"{samples.MEGATRON_LLAMA3} {change}", "run.sh")[1]
    assert f"run.sh: {left}" in draft.left


def test_quoted_words_of_scripts_are_values() -> None:
    draft = read_text_as(samples.MEGATRON_LLAMA3, "run.sh")[1]
    assert (draft.generator["layers"], draft.npus, draft.training["precision"]) == (32, 8, "fp8")


def test_a_dropout_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="hidden-dropout: found 'none'; a number from 0 to 1 is needed"):
        read_text_as(f"{samples.MEGATRON_LLAMA3} --hidden-dropout none", "run.sh")


def test_what_deepspeed_leaves_to_other_programs_is_listed() -> None:
    left = read_text_as(samples.DEEPSPEED_AUTO, "ds.json")[1].left
    assert "ds.json: bf16.enabled: is `auto`, which another program fills in" in left
    assert any("zero_hpz_partition_size: found" in one and "50 % more of this traffic" in one for one in left)
    assert len(left) == 8, left


@pytest.mark.parametrize(
    "end", ["", " 2>&1 | tee log", ' "$@"', " $EXTRA", "; wait", " &", "\n)\ntorchrun pretrain_gpt.py"]
)
def test_a_flag_takes_no_word_of_the_shell(end: str) -> None:
    text = f"--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --sequence-parallel{end}\n"
    assert read_text_as(text, "run.sh")[1].training["sequence_parallel"] is True


def test_what_a_file_assumes_yields_to_what_another_one_says() -> None:
    model, script = NAMED["hugging-face"].samples[0], NAMED["megatron-arguments"].samples[0]
    arguments = (
        script.replace("96", "32").replace("12288", "4096").replace("2048", "8192").replace("stage 3", "stage 4")
    )
    arguments += " --swiglu --untie-embeddings-and-output-weights --ffn-hidden-size 14336 --num-query-groups 8"
    made_ = made_of(texts(model=model, script=f"{arguments} --kv-channels 128"), "own")
    (workload,) = made_.data["workloads"]
    assert (workload["generator"]["vocabulary"], workload["training"]["sequence"]) == (128256, 8192)
    assert not any("vocabulary" in sentence or "longest context" in sentence for sentence in made_.assumed)


def test_a_plan_that_no_file_has_is_open() -> None:
    found = made_of(texts(model=NAMED["hugging-face"].samples[0]), "own", npus=64)
    assert found.data["workloads"][0]["parallelism"] == {"tp": "any", "pp": "any"}
    assert "that the search chooses the plan because no file has one" in found.assumed


def test_measurements_without_a_server_are_refused() -> None:
    drafts = texts(model=NAMED["hugging-face"].samples[0], tests=table())
    with pytest.raises(InputError, match="tests: measures collectives, and no file describes the server"):
        made_of(drafts, "own", npus=64)


def test_a_row_that_cannot_be_read_is_told() -> None:
    text = table().replace("  1073741824 ", "  10737x1824 ")
    with pytest.raises(InputError, match=r"tests:\d+: size: found '10737x1824'; bytes are needed"):
        read_text_as(text, "tests")


def test_experts_of_another_dispatcher_are_said() -> None:
    text = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --num-experts 8"
    assert any("all-to-all" in sentence for sentence in read_text_as(text, "run.sh")[1].assumed)
    assert read_text_as(f"{text} --moe-token-dispatcher-type alltoall", "run.sh")[1].assumed == ()


@pytest.mark.parametrize(("words", "sentence"), [
    (["--npus", "0"], "npus: found 0"),
    (["--npus", "16", "--npu", "h100"], "'h100'"),
    (["--npus", "9"], "tp 4 does not divide the 9 NPUs"),
])  # fmt: skip
def test_a_problem_that_is_printed_is_checked_and_names_the_file(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evo_libra.ui.commands.application import run  # noqa: PLC0415 - likewise

    script = tmp_path / "run.sh"
    sizes = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --global-batch-size 64"
    script.write_text(f"{sizes} --tensor-model-parallel-size 4\n")
    assert run(["import", str(script), *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert f"the problem of {script}:" in said.err


def test_srun_says_how_many_npus_there_are_and_offloading_is_listed() -> None:
    sizes = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64"
    text = f"srun --nodes=4 --ntasks-per-node=8 python pretrain_gpt.py {sizes} --optimizer-cpu-offload"
    draft = read_text_as(text, "run.sh")[1]
    assert draft.npus == 32
    (left,) = [sentence for sentence in draft.left if "offload" in sentence]
    assert left.startswith("run.sh: optimizer-cpu-offload: is not carried over; `training.optimizer.placement` says it")


def test_a_run_with_wrong_values_is_refused() -> None:
    text = NAMED["nccl-tests"].samples[0].replace("333.79  0    402.5", "333.79  5    402.5")
    with pytest.raises(InputError, match=r"tests:\d+: #wrong: found 5 wrong values"):
        read_text_as(text, "tests")
