#!/usr/bin/env python3
"""Checks an exported folder: logits of saddle against those of independent programs.

    saddle export --checkpoint RUN/final.safetensors --tokenizer MODEL --output FOLDER
    bench/peers/hugging_face_check.py --saddle PROGRAM --checkpoint RUN/final.safetensors \
        --config RUN/resolved.yaml --tokenizer MODEL --folder FOLDER --text FILE

Runs `saddle generate --logits` on the first tokens of a text, in float64 and float32, and computes
the logits of the same tokens from the folder alone: with the Llama of this file (numpy, float64,
written from the published formulas), and with the package transformers where it can be imported,
whose tokenizer must give the same tokens too. Prints the largest differences over all positions and
beyond position 500, and fails when one is over its tolerance.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

# Logits are of the order of 10. Float64 programs differ by the order of their sums; float32 ones by
# 2^-24 of values of that size, through all layers.
TOLERANCE = {"float64": 1e-9, "float32": 5e-3}
FAR = 500


def read_safetensors(path):
    """All tensors of a file as numpy arrays."""
    types = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64}
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(data[first:last], dtype=types[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def rmsnorm(x, gain, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * gain


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def llama_logits(folder, tokens):
    """Logits [positions, vocabulary] in float64 of the model in a folder."""
    config = json.loads((folder / "config.json").read_text())
    weights = {
        name: tensor.astype(np.float64)
        for name, tensor in read_safetensors(folder / "model.safetensors").items()
    }
    if "lm_head.weight" in weights:
        sys.exit(f"{folder}: the output matrix is stored a second time")
    eps, heads = config["rms_norm_eps"], config["num_attention_heads"]
    size, count = config["head_dim"], len(tokens)
    pairs = np.arange(0, size, 2) / size
    angles = np.outer(np.arange(count), config["rope_theta"] ** -pairs)
    cos, sin = (np.concatenate([f(angles)] * 2, axis=1) for f in (np.cos, np.sin))

    def heads_of(x):  # [heads, positions, size]
        return x.reshape(count, heads, size).transpose(1, 0, 2)

    def rotated(x):
        first, second = x[..., : size // 2], x[..., size // 2 :]
        return x * cos + np.concatenate([-second, first], axis=-1) * sin

    hidden = weights["model.embed_tokens.weight"][tokens]
    future = np.triu(np.full((count, count), -np.inf), 1)
    for layer in range(config["num_hidden_layers"]):

        def linear(x, name):
            return x @ weights[f"model.layers.{layer}.{name}.weight"].T

        def norm(x, name):
            return rmsnorm(x, weights[f"model.layers.{layer}.{name}.weight"], eps)

        x = norm(hidden, "input_layernorm")
        q, k, v = (heads_of(linear(x, f"self_attn.{part}_proj")) for part in "qkv")
        scores = rotated(q) @ rotated(k).transpose(0, 2, 1) / np.sqrt(size)
        mixed = softmax(scores + future) @ v
        hidden = hidden + linear(mixed.transpose(1, 0, 2).reshape(count, -1), "self_attn.o_proj")
        x = norm(hidden, "post_attention_layernorm")
        gate = linear(x, "mlp.gate_proj")
        inner = gate / (1 + np.exp(-gate)) * linear(x, "mlp.up_proj")
        hidden = hidden + linear(inner, "mlp.down_proj")
    hidden = rmsnorm(hidden, weights["model.norm.weight"], eps)
    return hidden @ weights["model.embed_tokens.weight"].T


def saddle_logits(arguments, prompt, dtype, scratch):
    output = pathlib.Path(scratch) / f"{dtype}.safetensors"
    command = [arguments.saddle, "generate", "--checkpoint", arguments.checkpoint]
    command += ["--config", arguments.config, "--tokenizer", arguments.tokenizer]
    command += ["--set", f"runtime.dtype={dtype}", "--set", "runtime.amp=false"]
    command += ["--prompt", prompt, "--max-new-tokens", "0", "--logits", str(output)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    tensors = read_safetensors(output)
    return tensors["tokens"], tensors["logits"]


def transformers_logits(folder, prompt, tokens):
    """Logits in float64 of the package transformers, or None without it."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"transformers: not compared ({error})")
        return None
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).double().eval()
    if model.lm_head.weight.data_ptr() != model.model.embed_tokens.weight.data_ptr():
        sys.exit("transformers does not tie the output matrix to the embedding")
    # Tables of angles are made in float32 there: a difference of its own, not of the export.
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, use_fast=False)
    found = tokenizer(prompt)["input_ids"]
    if found != list(tokens[1:]):
        sys.exit("the tokenizer of transformers gives other tokens")
    print(f"the same {len(found)} tokens by {type(tokenizer).__name__}")
    with torch.no_grad():
        return model(torch.tensor([list(map(int, tokens))])).logits[0].numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("saddle", "checkpoint", "config", "tokenizer", "folder", "text"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--characters", type=int, default=3000, help="of the text to use")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    prompt = pathlib.Path(arguments.text).read_text()[: arguments.characters]

    failed = False

    def compare(name, found, expected, tolerance):
        nonlocal failed
        difference = np.abs(found - expected)
        far = difference[FAR:].max() if len(difference) > FAR else float("nan")
        good = bool(difference.max() < tolerance)
        failed = failed or not good
        print(
            f"{name}: largest difference {difference.max():.2e}, beyond position {FAR} {far:.2e},"
            f" tolerance {tolerance:.0e}: {'good' if good else 'BAD'}"
        )

    with tempfile.TemporaryDirectory() as scratch:
        tokens, in_float64 = saddle_logits(arguments, prompt, "float64", scratch)
        _, in_float32 = saddle_logits(arguments, prompt, "float32", scratch)
    expected = llama_logits(folder, tokens)
    print(f"{len(tokens)} positions, logits up to {np.abs(expected).max():.2f}")
    if len(tokens) <= FAR + 1:
        sys.exit(f"the text is too short: more than {FAR} positions are wanted")
    compare("saddle float64 against numpy float64", in_float64, expected, TOLERANCE["float64"])
    compare("saddle float32 against numpy float64", in_float32, expected, TOLERANCE["float32"])
    other = transformers_logits(folder, prompt, tokens)
    if other is not None:
        compare("saddle float64 against transformers", in_float64, other, TOLERANCE["float32"])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
