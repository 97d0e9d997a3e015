#!/usr/bin/env python3
"""Checks an exported folder: logits of saddle against those of independent programs.

    saddle export --checkpoint RUN/final.safetensors --tokenizer MODEL --output FOLDER
    bench/peers/hugging_face_check.py --saddle PROGRAM --checkpoint RUN/final.safetensors \
        --config RUN/resolved.yaml --tokenizer MODEL --folder FOLDER --text FILE

Runs `saddle generate --logits` on the first tokens of a text, in float64 and float32, and computes
the logits of the same tokens from the folder alone: with the Llama of this file (numpy, float64,
written from the published formulas), and with the package transformers where it can be imported.
Prints the largest differences over all positions and beyond position 500, and fails when one is
over its tolerance. A text that is longer than the model's context is cut.

Then compares the tokens of saddle on hard texts, and on lines of the text, with those of the
packages tokenizers (tokenizer.json) and transformers, where they can be imported; with
--tokens-only, this alone. It fails when one differs, but for a unigram model: there two ways to
divide a text may be equally probable up to rounding, and the number of texts that differ is
printed.
"""

import argparse
import json
import pathlib
import re
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


class Saddle:
    """Runs `saddle generate` with one checkpoint."""

    def __init__(self, arguments, scratch):
        self.output = pathlib.Path(scratch) / "logits.safetensors"
        self.command = [arguments.saddle, "generate", "--checkpoint", arguments.checkpoint]
        self.command += ["--config", arguments.config, "--tokenizer", arguments.tokenizer]
        self.command += ["--set", "runtime.amp=false", "--max-new-tokens", "0"]
        self.command += ["--logits", str(self.output)]

    def logits(self, prompt, dtype="float32"):
        """The prompt, cut where it does not fit the context, its tokens after eos, and the logits."""
        while True:
            command = [*self.command, "--set", f"runtime.dtype={dtype}"]
            # With "=" a prompt may begin with a dash, but not be empty.
            command += [f"--prompt={prompt}"] if prompt else ["--prompt", ""]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode == 0:
                tensors = read_safetensors(self.output)
                return prompt, tensors["tokens"].tolist(), tensors["logits"]
            long = re.search(r"has (\d+) tokens .*context_length \((\d+)\)", result.stderr)
            if long is None:
                sys.exit(f"saddle generate failed: {result.stderr}")
            tokens, context = map(int, long.groups())
            prompt = prompt[: min(len(prompt) - 1, len(prompt) * context // tokens)]


def transformers_logits(folder, tokens):
    """Logits in float64 of the package transformers, or None without it."""
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"transformers: logits not compared ({error})")
        return None
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).double().eval()
    if model.lm_head.weight.data_ptr() != model.model.embed_tokens.weight.data_ptr():
        sys.exit("transformers does not tie the output matrix to the embedding")
    # Tables of angles are made in float32 there: a difference of its own, not of the export.
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0].numpy()


# No NUL: it cannot be part of an argument.
HARD_TEXTS = [
    "", " ", "  ", "   ", "a", " lead", "trail ", "  two  spaces  ", "\n", "\n\n a\n", "\t\ttab",
    "a\r\nb", " \n \t  ", "\U0001f600\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8", "\uac00\uac01\u1100\u1161",
    "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0645\u0631\u062d\u0628\u0627",
    "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439\u0442\u0435",
    "\u00e9 e\u0301 a\u0308\u0323", "\u0301", "\x01\x02\x7f\x1b[0m", "\u0085\u2028\u2029",
    "\u200b\ufeff\u00a0x\u2003y", "\ue000\U0010ffff", "\ufffd", "\ufb01 \u2167 \u2460 \u3314",
    "<s>", "</s> x", "a</s>", "<unk>", "<pad>", "<0x0A>", "x<0x41>y", "[CLS]", "\u2581",
    "\u2581\u2581 a", "a\u2581b", "a" * 300, "ab" * 200, " " * 100, "supercalifragilistic" * 20,
    "1234567890" * 10, "--------- ======== ________ .......... !!!!!!!", "= " * 50,
]  # fmt: skip


def other_tokenizers(folder):
    """Functions from a text to its ids, by the name of the program."""
    found = {}
    try:
        import tokenizers

        if (folder / "tokenizer.json").exists():
            fast = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            fast.encode_special_tokens = True  # names of special tokens in a text are text
            found[f"tokenizers {tokenizers.__version__}"] = lambda text: fast.encode(text).ids
        else:
            print("the folder has no tokenizer.json")
        import transformers

        auto = transformers.AutoTokenizer.from_pretrained(folder)
        name = f"transformers {transformers.__version__} ({type(auto).__name__})"
        found[name] = lambda text: auto(text)["input_ids"]
    except ImportError as error:
        print(f"tokens: not all compared ({error})")
    return found


def same_tokens(folder, saddle, texts):
    """Whether the programs give the tokens of saddle. Texts that do not fit the context are cut."""
    others = other_tokenizers(folder)
    if not others:
        return True
    cut_texts, expected = [], []
    for text in texts:
        text, tokens, _ = saddle.logits(text)
        cut_texts.append(text)
        expected.append(tokens[1:])
    good = True
    rounding = False
    if (folder / "tokenizer.json").exists():
        model = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
        rounding = model["type"] == "Unigram"
    for name, encode in others.items():
        differ = [text for text, ids in zip(cut_texts, expected) if list(encode(text)) != ids]
        print(f"{name}: {len(texts)} texts, {len(differ)} with other tokens than saddle")
        for text in differ[:5]:
            print(f"    {text[:60]!r}")
        good = good and (rounding or not differ)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("saddle", "checkpoint", "config", "tokenizer", "folder", "text"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--characters", type=int, default=3000, help="of the text to use")
    parser.add_argument("--tokens-only", action="store_true", help="compare no logits")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.folder)
    text = pathlib.Path(arguments.text).read_text(encoding="utf-8")
    context = json.loads((folder / "config.json").read_text())["max_position_embeddings"]

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
        saddle = Saddle(arguments, scratch)
        lines = [line for line in text.split("\n") if line][:40]
        failed = not same_tokens(folder, saddle, [*HARD_TEXTS, *lines])
        if arguments.tokens_only:
            sys.exit(1 if failed else 0)
        prompt, tokens, in_float64 = saddle.logits(text[: arguments.characters], "float64")
        _, _, in_float32 = saddle.logits(prompt)
    expected = llama_logits(folder, tokens)
    print(f"{len(tokens)} positions of {context}, logits up to {np.abs(expected).max():.2f}")
    if len(tokens) <= FAR + 1 < context and len(prompt) == len(text[: arguments.characters]):
        sys.exit(f"the text is too short: more than {FAR} positions are wanted")
    compare("saddle float64 against numpy float64", in_float64, expected, TOLERANCE["float64"])
    compare("saddle float32 against numpy float64", in_float32, expected, TOLERANCE["float32"])
    other = transformers_logits(folder, tokens)
    if other is not None:
        compare("saddle float64 against transformers", in_float64, other, TOLERANCE["float32"])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
