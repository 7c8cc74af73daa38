"""Tables of kernels, cell by cell."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.exchange.kernel_tables import read_kernel_table

HEAD = "device,gemm_dtype,m,n,k,latency"


def test_rows_have_sizes_seconds_and_a_precision() -> None:
    found = read_kernel_table(f"{HEAD}\nH100, float16, 1,2,3, 0.5\n", "t.csv")
    assert (found.kind, found.devices, found.left) == ("products", frozenset({"H100"}), {})
    assert found.rows == (
        {"m": 1, "n": 2, "k": 3, "gemm_dtype": "float16", "device": "H100", "seconds": 0.0005, "precision": "bf16"},
    )


@pytest.mark.parametrize(("kind", "head", "row"), [
    ("products", "gemm_dtype,m,n,k,latency", "half,1,1,1,1"),
    ("attention", "attn_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,latency", "half,1,1,1,1,1,1"),
    ("collectives", "nccl_dtype,op_name,num_gpus,message_size,latency", "half,all_gather,2,1,1"),
])  # fmt: skip
def test_kinds_are_told_by_their_columns(kind: str, head: str, row: str) -> None:
    found = read_kernel_table(f"{head}\n{row}\n", "t.csv")
    assert (found.kind, len(found.rows), found.devices) == (kind, 1, frozenset())


@pytest.mark.parametrize(("name", "precision"), [
    ("float16", "bf16"), ("bfloat16", "bf16"), ("half", "bf16"), ("fp8", "fp8"),
])  # fmt: skip
def test_types(name: str, precision: str) -> None:
    (row,) = read_kernel_table(f"{HEAD}\nH100,{name},1,2,3,1\n", "t.csv").rows
    assert row["precision"] == precision


def test_what_is_left_out_is_counted() -> None:
    rows = "H100,fp8_block,1,2,3,1\nH100,fp8_block,1,2,3,1\nH100,half,0,2,3,1\nH100,half,1,2,0,1\n"
    found = read_kernel_table(f"{HEAD}\n{rows}", "t.csv")
    assert (found.rows, found.left) == ((), {"fp8_block": 2, "a size of 0": 2})


@pytest.mark.parametrize(("row", "words"), [
    ("H100,half,1,2,3", "t.csv:2: found 5 cells; 6 are needed"),
    ("H100,half,x,2,3,1", "t.csv:2: m: found 'x'"),
    ("H100,half,1,2,3,0", "t.csv:2: latency: found '0'; milliseconds above 0"),
    ("H100,half,1,2,3,nan", "latency: found 'nan'"),
    ("H100,half,1,2,3,1.1e9", "latency: found '1.1e9'"),
    ("H100,half,1000000000000001,2,3,1", "m: found '1000000000000001'"),
])  # fmt: skip
def test_wrong_cells_are_refused_with_their_line(row: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_kernel_table(f"{HEAD}\n{row}\n", "t.csv")


def test_the_longest_time_and_the_largest_size_are_read() -> None:
    (row,) = read_kernel_table(f"{HEAD}\nH100,half,1000000000000000,2,3,1e9\n", "t.csv").rows
    assert (row["m"], row["seconds"]) == (10**15, 1e6)


@pytest.mark.parametrize(("head", "words"), [
    ("gemm_dtype,m,n,latency", r"t.csv:1: has no column k;"),
    ("gemm_dtype,m,n,k,k,latency", r"t.csv:1: a column comes twice"),
])  # fmt: skip
def test_wrong_columns_are_refused(head: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_kernel_table(f"{head}\n", "t.csv")
