"""Small texts with the facts of public files: what readers have to read as it is found."""

from __future__ import annotations

MEGATRON_SCRIPT = """#!/bin/bash
# GPT-3 175B
HIDDEN=12288
MODEL_ARGS=(
    --num-layers 96 --hidden-size $HIDDEN
    --num-attention-heads 96 --seq-length 2048
)
torchrun --nproc_per_node 8 --nnodes ${NODES:-16} pretrain_gpt.py ${MODEL_ARGS[@]} \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size=8 --sequence-parallel \\
    --num-layers-per-virtual-pipeline-stage 3 --recompute-granularity selective \\
    --micro-batch-size 1 --global-batch-size 256 --bf16 --use-distributed-optimizer --lr 6.0e-5
"""

MEGATRON_GPT3 = """#!/bin/bash
# Facts: Megatron-LM, examples/gpt3/train_gpt3_175b_distributed.sh
GPUS_PER_NODE=8
NUM_NODES=1
VOCAB_FILE=$3 #<of the caller>/vocab.json
RUN=( --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr localhost --master_port 6000 )
MODEL=(
    --num-layers 96 --hidden-size 12288 --num-attention-heads 96
    --seq-length 2048 --max-position-embeddings 2048
    --attention-backend auto # (flash/fused/unfused/local)
)
TRAINING=(
    --micro-batch-size 1 --global-batch-size 1536 --rampup-batch-size 16 16 5859375 --train-iters 500000
    --fp16 --lr 6.0e-5 --lr-warmup-fraction .001 --init-method-std 0.006
)
torchrun ${RUN[@]} pretrain_gpt.py ${MODEL[@]} ${TRAINING[@]} --vocab-file $VOCAB_FILE --split 949,50,1 \\
    --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16
"""
MEGATRON_LLAMA3 = """#!/bin/bash
# Facts: Megatron-LM, examples/llama/train_llama3_8b_h100_fp8.sh
NODES=${NODES:-"1"}
DTYPE="fp8"
LAYERS="32"
MODEL=(
    --use-mcore-models --num-layers $LAYERS --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
    --seq-length 8192 --position-embedding-type rope --rotary-percent 1.0 --hidden-dropout 0.0
    --swiglu --untie-embeddings-and-output-weights --disable-bias-linear --apply-layernorm-1p
)
if [[ "$DTYPE" == "fp8" ]]; then
    MODEL+=( "--fp8-format hybrid" "--fp8-amax-history-len 1024" "--fp8-param-gather" )
fi
DATA=( "--mock-data" "--vocab-size 128256" "--split '99,1,0'" "--no-mmap-bin-files" )
torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py ${MODEL[@]} ${DATA[@]} --bf16 --grad-reduce-in-bf16 \\
    --micro-batch-size 1 --global-batch-size 128 --use-distributed-optimizer --overlap-grad-reduce \\
    --overlap-param-gather --sequence-parallel --cross-entropy-loss-fusion --manual-gc --profile-step-start 4
"""
NEMO_GPT3 = """# Facts: NeMo-Megatron-Launcher, launcher_scripts/conf/training/gpt3/175b.yaml
run:
  name: gpt3_175b
  results_dir: ${base_results_dir}/${.name}
trainer: {num_nodes: 128, devices: 8, accelerator: gpu, precision: bf16, max_steps: 75000, accumulate_grad_batches: 1}
exp_manager:
  checkpoint_callback_params:
    model_parallel_size: ${multiply:${training.model.tensor_model_parallel_size}, 8}
model:
  micro_batch_size: 1
  global_batch_size: 2048
  rampup_batch_size: null
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 8
  virtual_pipeline_model_parallel_size: 12
  encoder_seq_length: 2048
  num_layers: 96
  hidden_size: 12288
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 96
  hidden_dropout: 0.1
  kv_channels: null
  num_query_groups: null
  activations_checkpoint_granularity: null
  activations_checkpoint_method: null
  fsdp: False
  fsdp_sharding_strategy: 'full'
  sequence_parallel: True
  overlap_p2p_comm: False
  make_vocab_size_divisible_by: 128
  megatron_amp_O2: True
  sharp: False
  fp8: False
  fp8_hybrid: True
  ub_tp_comm_overlap: False
  optim:
    name: distributed_fused_adam
    bucket_cap_mb: 220
    overlap_grad_sync: True
    betas: [0.9, 0.95]
    sched: {name: CosineAnnealing, warmup_steps: 115}
  data: {seq_length: 2048, num_workers: 2}
"""
NEMO_LLAMA = """# Facts: NeMo, examples/nlp/language_modeling/conf/megatron_llama_config.yaml
name: megatron_llama
restore_from_path: null
trainer: {devices: 1, num_nodes: 1, precision: 32, limit_val_batches: 50}
model:
  micro_batch_size: 4
  global_batch_size: 8
  encoder_seq_length: 4096
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 12
  hidden_size: 768
  ffn_hidden_size: 3072
  num_attention_heads: 12
  normalization: 'rmsnorm'
  activation: 'fast-swiglu'
  share_embeddings_and_output_weights: False
  tokenizer:
    library: sentencepiece
    model: ???
  fp32_residual_connection: False
  transformer_engine: True
  data:
    seq_length: ${model.encoder_seq_length}
  optim: {name: fused_adam, lr: 2e-4}
"""
DEEPSPEED_AUTO = """{
 "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
 "bf16": {"enabled": "auto"},
 "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "weight_decay": "auto"}},
 "zero_optimization": {
  "stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9,
  "offload_optimizer": {"device": "cpu", "pin_memory": true}, "offload_param": {"device": "cpu", "pin_memory": true},
  "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_max_live_parameters": 1e9,
  "zero_hpz_partition_size": 8
 },
 "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000,
 "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false
}"""
"""Facts: the examples of ZeRO's third stage in the documentation of Hugging Face's Trainer."""

NCCL_ALL_GATHER = """# nThread 1 nGpus 1 minBytes 0 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#  Rank  0 Group  0 Pid     36 on worker-0 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid     37 on worker-0 device  1 [0x43] NVIDIA H100 80GB HBM3
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           0             0     float    none      -1     0.24    0.00    0.00      0     0.18    0.00    0.00      0
           0             0     float    none      -1     0.19    0.00    0.00      0     0.17    0.00    0.00      0
   536870912     134217728     float    none      -1   2622.9  204.69  383.79      0   2622.4  204.72  383.86      0
  1073741824     268435456     float    none      -1   5200.4  206.47  387.14    N/A   5199.4  206.51  387.21    N/A
"""
"""Facts: sizes of 0, as nccl-tests prints them for messages that are less than a word of each rank."""

NCCL_BEFORE_ROOTS = """worker-0:21:21 [0] NCCL INFO Launch mode Parallel
#   Rank  0 Pid  88131 on    node device  0 [0x34] NVIDIA A100-SXM4-80GB
#   Rank  1 Pid  88131 on    node device  1 [0x36] NVIDIA A100-SXM4-80GB
#                                                       out-of-place                       in-place
#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error
    33554432       8388608     float     sum   4393.9    7.64   14.32  4e-07   4384.4    7.65   14.35  4e-07
    67108864      16777216     float     sum    16064    8.04   15.07  4e-07   8351.5    8.04   15.07    N/A
"""
"""Facts: columns of nccl-tests 2.10, which knew no roots."""

NCCL_BEFORE_OPERATIONS = """#   Rank  0 Pid  71 on node device  0 [0x34] TITAN RTX
#   Rank  1 Pid  71 on node device  1 [0x36] TITAN RTX
#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error
    33554432       4194304   float    817.8   20.51   20.51  0e+00    785.1   21.37   21.37  0e+00
    67108864       8388608   float   1568.3   21.40   21.40  0e+00   1560.9   21.50   21.50  0e+00
"""

MATRIX_A800 = """        \x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0     X      NV8     NV8     NV8     NODE    PIX     0-47,96-143     0               N/A
GPU1    NV8      X      NV8     NV8     NODE    NODE    0-47,96-143     0               N/A
GPU2    NV8     NV8      X      NV8     SYS     NODE    48-95,144-191   1               N/A
GPU3    NV8     NV8     NV8      X      SYS     SYS     48-95,144-191   1               N/A
NIC0    NODE    NODE    SYS     SYS      X      NODE
NIC1    PIX     NODE    NODE    SYS     NODE     X

Legend:
  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:
  NIC0: mlx5_0
"""
"""Facts: eight links of each GPU to switches, as servers of A800 have; four of the eight GPUs."""

TOPOLOGY_A100 = """<system version="1">
  <cpu host_hash="0x8393fb66b8b750c5" numaid="3" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:c4:00.0" count="2" tclass="0x068000"/>
          <nvlink target="0000:c6:00.0" count="2" tclass="0x068000"/>
          <nvlink target="0000:c9:00.0" count="8" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:0f:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:c4:00.0" count="12" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="0" affinity="ffff0000" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:61:00.0" class="0x020700" vendor="0x15b3" device="0x101b">
      <nic>
        <net name="mlx5_4" dev="4" speed="200000" port="1" latency="0.000000" guid="0x6477" maxconn="131072" gdr="1"/>
        <net name="mlx5_5" dev="5" speed="100000" port="2" latency="0.000000" guid="0x6477" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
"""
"""Facts: a DGX A100 whose interfaces are of two kinds, and whose switches are several; two of its eight GPUs."""
