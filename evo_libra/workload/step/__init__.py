"""The training step of a language model: hyper-parameters, a plan and an accelerator in, times and bytes out."""
