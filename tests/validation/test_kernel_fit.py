"""Constants of kernels: found again in times that were made of them, and in samples of the tables they came from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from designs import design_file
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.exchange.conformance import mutations
from evo_libra.exchange.kernel_tables import read_kernel_table
from evo_libra.network.catalog.accelerator import DecodeConstants, GemmConstants
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.ui.commands.application import run
from evo_libra.validation.kernel_fit import EXPONENTS, KernelFit, fit_kernels
from evo_libra.validation.kernels import collective_seconds, decode_seconds, product_seconds
from evo_libra.validation.source import published

HEADS = {
    "gemm": ("gemm_dtype", "m", "n", "k"),
    "attention-prefill": ("attn_dtype", "batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim"),
    "nccl": ("nccl_dtype", "op_name", "num_gpus", "message_size"),
}
TYPES = {"bf16": "float16", "fp8": "fp8", "fp4": "nvfp4"}
DEVICE = ("TRTLLM", "1.2.0", "NVIDIA H100")


def table_text(kernel: str, precision: str, rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as aiconfigurator writes it, of rows whose last cell are microseconds."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["framework", "version", "device", *HEADS[kernel], "latency"])
    writer.writerows([*DEVICE, TYPES[precision], *row[:-1], row[-1] / 1e3] for row in rows)
    return text.getvalue()


def measured(npu: str) -> list[str]:
    """Return the samples of measured kernels of an accelerator as tables."""
    sets = [one for one in published("kernel_measurements.json")["sets"] if one["npu"] == npu]
    return [
        table_text(one["kernel"].removesuffix("-any"), one.get("precision", "bf16"), one["rows"])
        for one in sets
        if one["kernel"].removesuffix("-any") in HEADS and one.get("precision", "bf16") in TYPES
        and not (one["kernel"] == "gemm" and "VLLM" in one["software"])
    ]  # fmt: skip


def fits_of(npu: str, texts: Iterable[str]) -> dict[str, KernelFit]:
    tables = [read_kernel_table(text, "table") for text in texts]
    return {fit.key: fit for fit in fit_kernels(accelerator(npu), tables)}


@pytest.mark.slow
@pytest.mark.parametrize("npu", [
    "a100-80gb", "h100-80gb", "b200",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("gb200", "b300", "gb300", "l40s-48gb", "rtx-pro-6000")),
])  # fmt: skip
def test_samples_have_the_rates_of_the_catalogue(npu: str) -> None:
    """The catalogue's were fitted to whole tables; samples have 50 to 550 of their rows of each kind."""
    known, fits = accelerator(npu), fits_of(npu, measured(npu))
    for precision in known.gemm.keys() & {"bf16", "fp8", "fp4"}:
        fit = fits.get(f"kernels.{precision}")
        if fit is not None:
            found = replace(known, gemm={**known.gemm, precision: GemmConstants.model_validate(fit.constants)})
            huge = [float(product_seconds(one, precision, 8192.0, 8192.0, 8192.0)) for one in (known, found)]
            assert huge[1] == pytest.approx(huge[0], rel=0.065)
            assert fit.constants["fixed_us"] == pytest.approx(known.gemm[precision].fixed * 1e6)
            assert fit.median < 0.1
    decode = known.decode_constants()
    assert fits["kernels.decode"].constants["bandwidth"] == pytest.approx(decode.bandwidth, abs=0.1)


@pytest.mark.slow
@given(
    st.floats(0.3, 0.95), st.floats(1, 20), st.floats(0.4, 0.95), st.floats(0.3, 3), st.floats(1, 30),
    st.sampled_from(EXPONENTS), st.sampled_from(["bf16", "fp8"]),
)  # fmt: skip
@example(0.625, 1.5, 0.4375, 0.375, 1.0, 2.0, "bf16")
@settings(max_examples=10)
def test_products_made_of_constants_have_them(
    plateau: float, isolated: float, bandwidth: float, k_step: float, quantised: float, exponent: float, precision: str
) -> None:
    base = accelerator("h100-80gb")
    gemm = GemmConstants(
        plateau=plateau, bandwidth=bandwidth, k_step_ns=k_step, split_k=3000.0, exponent=exponent, fixed_us=3.5,
        quantisation=quantised if precision == "fp8" else 0.0, isolated_us=isolated,
    )  # fmt: skip
    npu = replace(base, gemm={**base.gemm, precision: gemm})
    sizes = [64, 256, 1024, 2048, 4096, 8192, 16384]
    cells = [(m, n, k) for m in (1, 16, *sizes) for n in sizes for k in sizes]
    rows = [[*one, float(product_seconds(npu, precision, *map(float, one))) * 1e6] for one in cells]
    found = fits_of("h100-80gb", [table_text("gemm", precision, rows)])[f"kernels.{precision}"]
    assert found.constants["exponent"] == exponent
    assert found.constants["plateau"] == pytest.approx(plateau, rel=5e-3)
    assert found.constants["isolated_us"] == pytest.approx(isolated, rel=2e-2)
    assert found.maximum < 0.02
    if precision == "fp8":
        assert found.constants["quantisation"] == pytest.approx(quantised, abs=0.1)


@pytest.mark.slow
def test_products_with_few_rows_made_of_constants_have_them() -> None:
    npu = replace(accelerator("h100-80gb"), decode=DecodeConstants(bandwidth=0.6, fixed_us=7.0))
    cells = [(m, n, k) for m in (1, 16, 64) for n in (1024, 4096, 16384) for k in (1024, 4096, 16384)]
    rows = [[*one, float(decode_seconds(npu, *map(float, one))) * 1e6] for one in cells]
    found = fits_of("h100-80gb", [table_text("gemm", "bf16", rows)])["kernels.decode"]
    assert found.constants == {"bandwidth": pytest.approx(0.6, rel=1e-3), "fixed_us": pytest.approx(7.0, rel=1e-2)}


def test_collectives_made_of_constants_have_them() -> None:
    base = accelerator("h100-80gb")
    npu = replace(base, bus={"nvlink4": BusConstants(efficiency=0.7, half_message_MB=40.0)})
    sizes = [2**power for power in range(20, 32)]
    rows = [
        [name, 8, size, float(collective_seconds(npu, "nvlink4", 2.0 * size)) * 1e6]
        for name in ("all_gather", "reduce_scatter") for size in sizes
    ]  # fmt: skip
    rows += [["all_reduce", 8, size, 1.0] for size in sizes]
    fit = fits_of("h100-80gb", [table_text("nccl", "bf16", rows)])["bus.nvlink4"]
    assert fit.constants == {"efficiency": pytest.approx(0.7), "half_message_MB": pytest.approx(40, rel=1e-3)}
    assert fit.rows == 16


@pytest.mark.slow
def test_the_command_prints_an_accelerator_that_a_problem_file_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gemm_perf.txt"
    path.write_text(measured("h100-80gb")[0] + "TRTLLM,1.2.0,NVIDIA H100,fp8_block,1024,1024,1024,0.1\n")
    assert run(["fit-npu", str(path), "--npu", "h100-80gb"]) == 0
    text = capsys.readouterr().out
    assert f"left out of {path}: 1 rows of fp8_block" in text
    entry = YAML(typ="safe").load(text.partition("\n\n")[0] if "\n\n" in text else text.split("error of")[0])["npu"]
    assert run(["fit-npu", str(path), "--npu", "h100-80gb", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["npu"] == entry
    assert [fit["key"] for fit in found["fits"]] == ["kernels.decode", "kernels.bf16"]
    problem = load_problem(design_file("llama3-405b-16k"), [f"npu={json.dumps(entry)}"])
    assert problem.name == "llama3-405b-16k"


def test_attention_within_a_window_and_on_another_cache_is_left_out() -> None:
    head = "attn_dtype,kv_cache_dtype,window_size,batch_size,isl,num_heads,num_key_value_heads,head_dim,latency\n"
    rows = ["bfloat16,bfloat16,0", "bfloat16,bfloat16,128", "bfloat16,fp8,0", "fp8,fp8,0"]
    table = read_kernel_table(head + "".join(f"{row},1,2048,32,8,128,0.5\n" for row in rows), "table")
    assert [row["precision"] for row in table.rows] == ["bf16", "fp8"]
    assert table.left == {"bfloat16 within a window": 1, "bfloat16 on a cache of fp8": 1}


@pytest.mark.slow
def test_a_table_in_parquet_gives_what_the_same_table_with_commas_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "gemm_perf.txt"
    text.write_text(measured("b300")[0])
    pl.read_csv(text).write_parquet(tmp_path / "gemm_perf.parquet")
    found = []
    for path in (text, tmp_path / "gemm_perf.parquet"):
        assert run(["fit-npu", str(path), "--npu", "b300", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["fits"])
    assert found[0] == found[1]
    (tmp_path / "other.parquet").write_text("no table")
    assert run(["fit-npu", str(tmp_path / "other.parquet"), "--npu", "b300"]) != 0
    assert "other.parquet: is no table in Parquet" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "sentence"), [
    ("gemm_dtype,m,n,latency\n", "table:1: has no column k; the columns of products: gemm_dtype, m, n, k, latency;"),
    ("gemm_dtype,m,n,k,latency\nfloat16,1,x,2,1\n", "table:2: n: found 'x'; a whole number is needed"),
    ("gemm_dtype,m,n,k,latency\n\nfloat16,1,1,2,nan\n", "table:3: latency: found 'nan'; milliseconds above 0"),
    ("gemm_dtype,m,n,k,latency\nfloat16,1,1\n", "table:2: found 3 cells; 5 are needed"),
    ("", "table:1: has no column"),
])  # fmt: skip
def test_what_is_wrong_with_a_table_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        read_kernel_table(text, "table")
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="no table has 10 rows of products"):
        fits_of("h100-80gb", [table_text("gemm", "bf16", [[4096, 4096, 4096, 200.0]] * 9)])


@pytest.mark.slow
def test_tables_of_two_devices_and_of_other_units_are_refused() -> None:
    text = measured("h100-80gb")[0]
    with pytest.raises(InputError, match="the tables are of several devices: NVIDIA A100, NVIDIA H100"):
        fits_of("h100-80gb", [text, text.replace("NVIDIA H100", "NVIDIA A100")])
    head, *lines = text.splitlines()
    wrong = [",".join([*line.split(",")[:-1], str(float(line.split(",")[-1]) * 1e3)]) for line in lines]
    with pytest.raises(InputError, match=r"half of the rows differ by .* latencies are milliseconds"):
        fits_of("h100-80gb", ["\n".join([head, *wrong])])


def survives(text: str) -> None:
    try:
        fit_kernels(accelerator("h100-80gb"), [read_kernel_table(text, "table")])
    except InputError as error:
        assert "\n" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(2000, marks=pytest.mark.slow)])
def test_tables_survive_mutations(count: int) -> None:
    random = np.random.default_rng(0)
    texts = [text for text in measured("h100-80gb") if "fp8" not in text]
    for text in texts:
        head, *lines = text.splitlines(keepends=True)
        short = head + "".join(random.choice(lines, 20))
        for mutated in mutations(short, count // len(texts)):
            survives(mutated)
