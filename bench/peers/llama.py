"""The same model in plain PyTorch, and readers for the files of saddle.

This is not part of the program or its tests: it is the alternative for comparison in benchmarks.
"""
import json
import math
import struct
from pathlib import Path

import torch
import torch.nn.functional as F
import yaml


def read_settings(run_or_config):
    """The sections of a resolved.yaml, or of an equivalent JSON file."""
    with open(run_or_config) as file:
        return json.load(file) if Path(run_or_config).suffix == ".json" else yaml.safe_load(file)


def read_safetensors(path):
    """Tensors of a safetensors file with F32 entries, by name."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + length + begin:8 + length + end])
        tensors[name] = torch.frombuffer(raw, dtype=torch.float32).reshape(entry["shape"])
    return tensors


def read_tokens(cache, split, count):
    """The first `count` token ids of a split."""
    manifest = json.loads((Path(cache) / "manifest.json").read_text())
    raw = bytearray()
    for shard in sorted(Path(cache).glob(f"{split}-*.bin")):
        raw += shard.read_bytes()[:2 * count - len(raw)]
        if len(raw) >= 2 * count:
            break
    if len(raw) < 2 * count:
        raise SystemExit(f"{cache}: {len(raw) // 2} {split} tokens, but {count} are needed")
    assert manifest, "a cache has a manifest"
    return torch.frombuffer(raw, dtype=torch.int16).to(torch.int64) & 0xFFFF


class RmsNorm(torch.nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Block(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        width, ffn = model["width"], model["ffn_width"]
        self.heads = model["heads"]
        self.attention_norm = RmsNorm(width, model["norm_eps"])
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            torch.nn.Linear(width, width, bias=False) for _ in range(4))
        self.ffn_norm = RmsNorm(width, model["norm_eps"])
        self.gate_proj = torch.nn.Linear(width, ffn, bias=False)
        self.up_proj = torch.nn.Linear(width, ffn, bias=False)
        self.down_proj = torch.nn.Linear(ffn, width, bias=False)

    def split(self, x):
        batch, positions, width = x.shape
        return x.view(batch, positions, self.heads, width // self.heads).transpose(1, 2)

    @staticmethod
    def turn(x, cos, sin):
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def attention(self, q, k, v, mask):
        if hasattr(F, "scaled_dot_product_attention"):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return torch.softmax(scores + mask, dim=-1) @ v

    def forward(self, h, cos, sin, mask):
        n = self.attention_norm(h)
        q, k, v = (self.split(f(n)) for f in (self.q_proj, self.k_proj, self.v_proj))
        o = self.attention(self.turn(q, cos, sin), self.turn(k, cos, sin), v, mask)
        h = h + self.out_proj(o.transpose(1, 2).reshape(h.shape))
        n = self.ffn_norm(h)
        return h + self.down_proj(F.silu(self.gate_proj(n)) * self.up_proj(n))


class Llama(torch.nn.Module):
    """Logits [B, T, V] of tokens [B, T]."""

    def __init__(self, model):
        super().__init__()
        self.embedding = torch.nn.Embedding(model["vocab_size"], model["width"])
        torch.nn.init.normal_(self.embedding.weight, std=0.02)
        self.blocks = torch.nn.ModuleList(Block(model) for _ in range(model["layers"]))
        self.norm = RmsNorm(model["width"], model["norm_eps"])
        positions, half = model["context_length"], model["width"] // model["heads"] // 2
        frequencies = model["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)
        mask = torch.full((positions, positions), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, tokens):
        t = tokens.shape[1]
        h = self.embedding(tokens)
        for block in self.blocks:
            h = block(h, self.cos[:t].to(h.dtype), self.sin[:t].to(h.dtype),
                      self.mask[:t, :t].to(h.dtype))
        return self.norm(h) @ self.embedding.weight.T

    def loss(self, tokens, targets):
        """Mean cross-entropy in nats."""
        return F.cross_entropy(self(tokens).flatten(0, 1), targets.flatten())

    def load_saddle(self, path):
        """Weights from a saddle weight file."""
        names = {"attention.": "", "ffn.": ""}
        state = {}
        for name, tensor in read_safetensors(path).items():
            for old, new in names.items():
                name = name.replace(old, new)
            state[name] = tensor
        self.load_state_dict(state)
