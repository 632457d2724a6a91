"""The engine's architecture in eager PyTorch, driven by one JSON message a line on stdin.

Each answer is one JSON line on stdout. `load` reads a model folder as the engine does (config.json and
model.safetensors); `loss`, `train` and `sample` run on what was loaded last.
"""

import json
import struct
import sys
import time

import numpy
import torch
import torch.nn.functional as F


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(size))
        block = file.read()
    tensors = {}
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        values = numpy.frombuffer(block[start:end], dtype=numpy.float32).reshape(entry["shape"])
        tensors[name] = torch.nn.Parameter(torch.from_numpy(values.copy()))
    return tensors


class CacheInPlace:
    """Room for all positions from the start."""

    def __init__(self, shape):
        self.keys, self.values = torch.empty(shape), torch.empty(shape)

    def add(self, k, v, start):
        end = start + k.shape[2]
        self.keys[:, :, start:end] = k
        self.values[:, :, start:end] = v
        return self.keys[:, :, :end], self.values[:, :, :end]


class GrowingCache:
    """Joined to the new keys and values at each step, as DynamicCache of transformers does."""

    def __init__(self, _shape):
        self.keys = self.values = None

    def add(self, k, v, start):
        self.keys = k if start == 0 else torch.cat([self.keys, k], dim=2)
        self.values = v if start == 0 else torch.cat([self.values, v], dim=2)
        return self.keys, self.values


CACHES = {"in-place": CacheInPlace, "growing": GrowingCache}


class Model:
    def __init__(self, folder):
        with open(folder + "/config.json") as file:
            config = json.load(file)
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.width = config["hidden_size"]
        self.head_width = self.width // self.heads
        self.epsilon = config["rms_norm_eps"]
        self.weights = read_safetensors(folder + "/model.safetensors")
        half = self.head_width // 2
        positions = torch.arange(config["max_position_embeddings"], dtype=torch.float64)
        frequencies = config["rope_theta"] ** -(torch.arange(half, dtype=torch.float64) / half)
        angles = torch.outer(positions, frequencies)
        self.cosines = torch.cat([angles.cos(), angles.cos()], dim=-1).float()
        self.sines = torch.cat([angles.sin(), angles.sin()], dim=-1).float()

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"])

    def norm(self, x, name):
        return F.rms_norm(x, (self.width,), self.weights[name + ".weight"], self.epsilon)

    def rotate(self, x, start):
        count = x.shape[2]
        low, high = x.chunk(2, dim=-1)
        turned = torch.cat([-high, low], dim=-1)
        return x * self.cosines[start : start + count] + turned * self.sines[start : start + count]

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.head_width).transpose(1, 2)

    def attend(self, x, path, start, cache):
        q = self.rotate(self.split(self.linear(x, path + ".q_proj")), start)
        k = self.rotate(self.split(self.linear(x, path + ".k_proj")), start)
        v = self.split(self.linear(x, path + ".v_proj"))
        if cache is not None:
            k, v = cache.add(k, v, start)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        return self.linear(y.transpose(1, 2).reshape(x.shape), path + ".o_proj")

    def logits(self, tokens, start=0, caches=None, last_only=False):
        x = F.embedding(tokens, self.weights["model.embed_tokens.weight"])
        for layer in range(self.layers):
            path = f"model.layers.{layer}"
            cache = None if caches is None else caches[layer]
            x = x + self.attend(self.norm(x, path + ".input_layernorm"), path + ".self_attn", start, cache)
            y = self.norm(x, path + ".post_attention_layernorm")
            gated = F.silu(self.linear(y, path + ".mlp.gate_proj")) * self.linear(y, path + ".mlp.up_proj")
            x = x + self.linear(gated, path + ".mlp.down_proj")
        if last_only:
            x = x[:, -1:]
        return self.linear(self.norm(x, "model.norm"), "lm_head")


class Peer:
    def __init__(self, cache):
        self.make_cache = CACHES[cache]

    def load(self, folder, adam):
        self.model = Model(folder)
        self.optimizer = torch.optim.AdamW(
            self.model.weights.values(),
            lr=adam["learningRate"],
            betas=(adam["beta1"], adam["beta2"]),
            eps=adam["eps"],
            weight_decay=adam["weightDecay"],
            fused=adam["fused"],
        )
        return {}

    def batch(self, tokens, targets, weight):
        self.tokens = torch.tensor(tokens)
        self.targets = torch.tensor(targets).flatten()
        self.weight = weight
        return {}

    def compute_loss(self):
        logits = self.model.logits(self.tokens)
        summed = F.cross_entropy(logits.view(-1, logits.shape[-1]), self.targets, reduction="sum")
        return summed * self.weight

    def loss(self):
        with torch.no_grad():
            return {"loss": self.compute_loss().item()}

    def train(self, steps):
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            self.compute_loss().backward()
            self.optimizer.step()
        return {}

    @torch.inference_mode()
    def sample(self, prompts, count):
        tokens = torch.tensor(prompts)
        length = tokens.shape[1] + count
        shape = (tokens.shape[0], self.model.heads, length, self.model.head_width)
        caches = [self.make_cache(shape) for _ in range(self.model.layers)]
        drawn, logprobs, start = [], [], 0
        for _ in range(count):
            logits = self.model.logits(tokens, start, caches, last_only=True)[:, -1]
            start += tokens.shape[1]
            scores = F.log_softmax(logits, dim=-1)
            tokens = torch.multinomial(scores.exp(), 1)
            logprobs.append(scores.gather(1, tokens))
            drawn.append(tokens)
        return {"count": torch.cat(drawn, dim=1).numel(), "logprob": torch.cat(logprobs).sum().item()}


def main():
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(settings["threads"])
    peer = Peer(settings["cache"])
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        run = getattr(peer, message.pop("do"))
        wall, cpu = time.perf_counter(), time.process_time()
        answer = run(**message)
        answer["wallMs"] = (time.perf_counter() - wall) * 1000
        answer["cpuMs"] = (time.process_time() - cpu) * 1000
        print(json.dumps(answer), flush=True)


main()
