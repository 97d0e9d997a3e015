#!/usr/bin/env python3
"""Runs training updates, or only losses, of the model in PyTorch; prints one JSON object.

With runtime.amp in the settings it uses PyTorch's autocast to bf16.

    train_pytorch.py --settings RUN/resolved.yaml --cache CACHE --mode eager --updates 3
"""
import argparse
import json
import resource
import statistics
import time

import torch

import llama


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", required=True, help="resolved.yaml of a saddle run")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--work", choices=["train", "loss"], default="train")
    parser.add_argument("--weights", help="a saddle weight file to start from")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=3, help="timed updates, after one warm-up")
    parser.add_argument("--split", default="train")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    settings = llama.read_settings(options.settings)
    training, optimizer = settings["training"], settings["optimizer"]
    model = llama.Llama(settings["model"])
    if options.weights:
        model.load_saddle(options.weights)
    positions = settings["model"]["context_length"]
    micro = training["micro_batch_size"]
    count = training["batch_tokens"] // positions
    tokens = llama.read_tokens(options.cache, options.split, (options.updates + 1) * count * positions + 1)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    gains = [p for p in model.parameters() if p.dim() == 1]
    adamw = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": optimizer["weight_decay"]},
         {"params": gains, "weight_decay": 0.0}],
        lr=optimizer["lr"], betas=(optimizer["beta1"], optimizer["beta2"]), eps=optimizer["eps"])
    amp = settings["runtime"]["amp"]

    def mean_loss(inputs, targets):
        with torch.autocast("cpu", torch.bfloat16, enabled=amp):
            return model.loss(inputs, targets)

    loss_of = torch.compile(mean_loss) if options.mode == "compile" else mean_loss

    seconds, losses = [], []
    for update in range(options.updates + 1):
        start = time.perf_counter()
        total = 0.0
        for first in range(0, count, micro):
            blocks = range(update * count + first, update * count + min(first + micro, count))
            rows = torch.stack([tokens[b * positions:(b + 1) * positions + 1] for b in blocks])
            share = len(blocks) / count
            if options.work == "loss":
                with torch.no_grad():
                    total += float(loss_of(rows[:, :-1], rows[:, 1:])) * share
                continue
            loss = loss_of(rows[:, :-1], rows[:, 1:]) * share
            loss.backward()
            total += float(loss)
        if options.work == "train":
            torch.nn.utils.clip_grad_norm_(model.parameters(), optimizer["grad_clip"])
            adamw.step()
            adamw.zero_grad()
        seconds.append(time.perf_counter() - start)
        losses.append(total)
    timed = seconds[1:]
    print(json.dumps({
        "program": f"PyTorch {torch.__version__} {options.mode}{' autocast' if amp else ''}",
        "tokens_per_second": count * positions / statistics.median(timed),
        "slowest": count * positions / max(timed),
        "fastest": count * positions / min(timed),
        "first_update_seconds": seconds[0],
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "losses": losses,
    }))


if __name__ == "__main__":
    main()
