#!/usr/bin/env python3
"""Runs saddle and PyTorch in turn on the same training work on the same machine; prints ratios.

    compare_training.py --saddle build/release/apps/saddle/saddle --config configs/20m.yaml \
        --cache CACHE --rounds 3 [--python /usr/bin/python3 ...]

Each --python is an interpreter with torch and yaml (Debian: python3-torch, python3-yaml). Rounds
alternate between the programs, so that a machine whose speed drifts does not favour one. First the
losses of the same weights on the same tokens are compared: the work must be the same before it is
timed. Modes that a torch does not have (torch.compile before 2.0) are skipped.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command, threads):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


class Saddle:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.runs = 0

    def settings(self, updates, output):
        o = self.options
        tokens = o.microbatch * o.context
        return ["--config", o.config,
                "--set", f"data.cache={o.cache}", "--set", f"runtime.threads={o.threads}",
                "--set", f"model.context_length={o.context}",
                "--set", f"training.batch_tokens={tokens}",
                "--set", f"training.micro_batch_size={o.microbatch}",
                "--set", f"training.max_tokens={updates * tokens}",
                "--set", f"training.epoch_tokens={updates * tokens}",
                "--set", "training.log_every=1", "--set", "evaluation.subset_blocks=1",
                "--set", f"runtime.output_dir={output}"] + [
                    part for item in o.set for part in ("--set", item)]

    def train(self, updates):
        """The directory of a short run: weights, and settings as a file."""
        output = self.folder / f"run-{self.runs}"
        self.runs += 1
        run([self.options.saddle, "train"] + self.settings(updates, output), self.options.threads)
        return output

    def measure(self, updates):
        """Timed updates after one untimed update; no evaluation, no checkpoint."""
        record = self.folder / "record.json"
        run([self.options.saddle, "benchmark-worker"]
            + self.settings(1 + updates, self.folder / "unused")
            + ["--warmup", "1", "--steps", str(updates), "--windows", "1", "--output", str(record)],
            self.options.threads)
        result = json.loads(record.read_text())
        return {"program": "saddle", "tokens_per_second": result["tokens_per_second"],
                "first_update_seconds": result["first_update_seconds"],
                "peak_bytes": result["peak_memory_bytes"], "settings": result["settings"]}


def nested(settings):
    """{"a.b": x} as {"a": {"b": x}}."""
    result = {}
    for key, value in settings.items():
        *sections, name = key.split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = value
    return result


def pytorch(options, python, work, settings, updates, extra=()):
    command = [python, HERE / "train_pytorch.py", "--settings", settings, "--cache", options.cache,
               "--threads", str(options.threads), "--updates", str(updates), "--work", work, *extra]
    return json.loads(run(list(map(str, command)), options.threads))


def available(options, pythons, modes):
    """The pairs of an interpreter and a mode that its torch has; prints a line for skipped pairs."""
    pairs = []
    for python in pythons:
        version, compiles = run([python, "-c", "import torch; print(torch.__version__, "
                                 "hasattr(torch, 'compile'))"], options.threads).split()
        for mode in modes:
            if mode == "compile" and compiles == "False":
                print(f"{python}: no torch.compile in PyTorch {version}, skipped")
            else:
                pairs.append((python, mode))
    return pairs


def check_same_loss(options, saddle, python):
    """Compares the losses of trained weights on the same validation targets in both programs: the work
    must be the same before it is timed. The validation split must be whole microbatches."""
    output = saddle.train(2)
    weights = output / "final.safetensors"
    text = run([options.saddle, "evaluate"] + saddle.settings(2, output) +
               ["--checkpoint", str(weights), "--full", "--json"], options.threads)
    ours = json.loads(text)
    microbatch = options.microbatch * options.context
    if ours["targets"] % microbatch != 0:
        raise SystemExit(f"{options.cache}: {ours['targets']} validation targets are not a whole number "
                         f"of microbatches of {microbatch}; prepare the cache with "
                         f"--set data.prepare_validation_tokens={4 * microbatch + 1}")
    theirs = pytorch(options, python, "loss", output / "resolved.yaml",
                     ours["targets"] // microbatch - 1,
                     ["--weights", str(weights), "--split", "validation"])
    mean = statistics.fmean(theirs["losses"])
    print(f"loss on {ours['targets']} validation targets: saddle {ours['loss']:.6f}, "
          f"PyTorch {mean:.6f}")
    # Two programs with sums in different orders, in float32; under autocast (each with its own list
    # of rounded tensors) a bf16 number has 8 bits.
    autocast = "runtime.amp=true" in options.set
    if abs(ours["loss"] / mean - 1) > (1e-3 if autocast else 1e-5):
        raise SystemExit("the two programs do not compute the same loss")
    return output / "resolved.yaml"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saddle", required=True)
    parser.add_argument("--config", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--mode", action="append", default=[], help="eager, compile")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--microbatch", type=int, default=4)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=3, help="timed updates per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-loss-check", action="store_true")
    options = parser.parse_args()
    pythons = options.python or ["/usr/bin/python3"]
    modes = options.mode or ["eager"]
    pairs = available(options, pythons, modes)

    with tempfile.TemporaryDirectory() as folder:
        saddle = Saddle(options, Path(folder))
        if options.skip_loss_check:
            settings = Path(folder) / "settings.json"
            settings.write_text(json.dumps(nested(saddle.measure(1)["settings"])))
        else:
            settings = check_same_loss(options, saddle, pythons[0])
        rows = {}
        for _ in range(options.rounds):
            ours = saddle.measure(options.updates)
            rows.setdefault("saddle", []).append((ours, 1.0))
            for python, mode in pairs:
                peer = pytorch(options, python, "train", settings, options.updates,
                               ["--mode", mode])
                ratio = ours["tokens_per_second"] / peer["tokens_per_second"]
                rows.setdefault(peer["program"], []).append((peer, ratio))
        print(f"{'program':34} {'tokens/s':>9} {'saddle is':>10} {'(range)':>15} "
              f"{'peak GB':>8} {'first update':>13}")
        for name, results in rows.items():
            rate = statistics.median(r["tokens_per_second"] for r, _ in results)
            ratios = [ratio for _, ratio in results]
            print(f"{name:34} {rate:9.1f} {statistics.median(ratios):9.2f}x "
                  f"{min(ratios):6.2f} - {max(ratios):5.2f}  "
                  f"{max(r['peak_bytes'] for r, _ in results) / 1e9:8.2f} "
                  f"{statistics.median(r['first_update_seconds'] for r, _ in results):11.1f} s")


if __name__ == "__main__":
    main()
