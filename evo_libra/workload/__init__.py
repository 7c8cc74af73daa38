"""Workloads: what one training iteration computes and communicates."""
