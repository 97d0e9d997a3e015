#!/usr/bin/env python3
"""Computes v'Hv by double backward in PyTorch, along the random directions of `saddle
benchmark-hvp`; prints one JSON object.

    hvp_pytorch.py --settings RUN/resolved.yaml --cache CACHE --weights RUN/epoch-000.safetensors \
        --batch 1 --directions 2
"""
import argparse
import json
import resource
import statistics
import time

import torch

import llama


def signs(seed, stream, count):
    """A random direction of saddle: Philox4x32-10, purpose 6, one block per index."""
    mask = 0xFFFFFFFF
    index = torch.arange(count, dtype=torch.int64)
    words = [index & mask, index >> 32, torch.full_like(index, stream), torch.full_like(index, 6)]
    key = [seed & mask, seed >> 32]
    for _ in range(10):
        # 64-bit products wrap, and shifts keep the sign: the mask turns both into unsigned words.
        even, odd = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [((odd >> 32) & mask) ^ words[1] ^ key[0], odd & mask,
                 ((even >> 32) & mask) ^ words[3] ^ key[1], even & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return (words[0] & 1).to(torch.float32) * 2 - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", required=True, help="resolved.yaml of a saddle run")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--weights", required=True, help="a saddle weight file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--directions", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    settings = llama.read_settings(options.settings)
    model = llama.Llama(settings["model"])
    model.load_saddle(options.weights)
    if hasattr(torch.nn, "attention"):  # the fused kernels have no second derivative
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backend = sdpa_kernel(SDPBackend.MATH)
    else:
        backend = torch.enable_grad()
    positions = settings["model"]["context_length"]
    tokens = llama.read_tokens(options.cache, "train", options.batch * positions + 1)
    rows = torch.stack([tokens[b * positions:(b + 1) * positions + 1] for b in range(options.batch)])
    parameters = list(model.parameters())  # in the canonical order
    count = sum(p.numel() for p in parameters)

    forms, seconds = [], []
    with backend:
        for round_ in range(options.rounds + 1):  # the first one warms up
            directions = 1 if round_ == 0 else options.directions
            for k in range(directions):
                flat = signs(settings["runtime"]["seed"], k, count)
                parts = torch.split(flat, [p.numel() for p in parameters])
                v = [part.view_as(p) for part, p in zip(parts, parameters)]
                start = time.perf_counter()
                loss = model.loss(rows[:, :-1], rows[:, 1:])
                gradient = torch.autograd.grad(loss, parameters, create_graph=True)
                dot = sum((g * d).sum() for g, d in zip(gradient, v))
                product = torch.autograd.grad(dot, parameters)
                form = sum(float((h.double() * d).sum()) for h, d in zip(product, v))
                if round_ > 0:
                    seconds.append(time.perf_counter() - start)
                    forms.append(form)
                del loss, gradient, dot, product
    print(json.dumps({
        "program": f"PyTorch {torch.__version__} double backward",
        "seconds_per_direction": statistics.median(seconds),
        "tokens_per_second_and_direction": options.batch * positions / statistics.median(seconds),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "forms": forms[:options.directions],
    }))


if __name__ == "__main__":
    main()
