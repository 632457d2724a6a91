"""Write a tiny Qwen3 model with random weights, and a byte-level tokenizer, as a folder that SkyRL can serve.

    python make_model.py FOLDER

Nothing is downloaded. The weights depend on the seed below and on nothing else.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

SEED = 7
SPECIAL_TOKENS = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>"]
PAD, END = 0, 1
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
HIDDEN, LAYERS, HEADS, KEY_VALUE_HEADS, HEAD_SIZE, INNER, CONTEXT = 64, 2, 4, 2, 16, 128, 512


def make_tokenizer(folder: Path) -> int:
    """One token a byte, behind the special ones, so that every text has tokens. Returns how many there are."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(SPECIAL_TOKENS + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL_TOKENS])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": SPECIAL_TOKENS[END],
        "pad_token": SPECIAL_TOKENS[PAD],
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(folder / "tokenizer_config.json", config)
    return len(vocabulary)


def make_config(folder: Path, vocabulary_size: int) -> None:
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": vocabulary_size,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "head_dim": HEAD_SIZE,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "use_cache": True,
        "dtype": "float32",
        "torch_dtype": "float32",
        "bos_token_id": None,
        "eos_token_id": END,
        "pad_token_id": PAD,
    }
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", {"eos_token_id": END, "pad_token_id": PAD})


def make_weights(folder: Path, vocabulary_size: int) -> None:
    random = np.random.default_rng(SEED)

    def drawn(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    def ones(size: int) -> np.ndarray:
        return np.ones(size, np.float32)

    queries, values = HEADS * HEAD_SIZE, KEY_VALUE_HEADS * HEAD_SIZE
    tensors = {
        "model.embed_tokens.weight": drawn(vocabulary_size, HIDDEN),
        "model.norm.weight": ones(HIDDEN),
        # Halved, so that the untrained model is close to a uniform one, whose loss is known: ln(vocabulary).
        "lm_head.weight": drawn(vocabulary_size, HIDDEN) * np.float32(0.5),
    }
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        tensors |= {
            prefix + "input_layernorm.weight": ones(HIDDEN),
            prefix + "post_attention_layernorm.weight": ones(HIDDEN),
            prefix + "self_attn.q_proj.weight": drawn(queries, HIDDEN),
            prefix + "self_attn.k_proj.weight": drawn(values, HIDDEN),
            prefix + "self_attn.v_proj.weight": drawn(values, HIDDEN),
            prefix + "self_attn.o_proj.weight": drawn(HIDDEN, queries),
            prefix + "self_attn.q_norm.weight": ones(HEAD_SIZE),
            prefix + "self_attn.k_norm.weight": ones(HEAD_SIZE),
            prefix + "mlp.gate_proj.weight": drawn(INNER, HIDDEN),
            prefix + "mlp.up_proj.weight": drawn(INNER, HIDDEN),
            prefix + "mlp.down_proj.weight": drawn(HIDDEN, INNER),
        }
    save_file(tensors, str(folder / "model.safetensors"), metadata={"format": "pt"})


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary_size = make_tokenizer(folder)
    make_config(folder, vocabulary_size)
    make_weights(folder, vocabulary_size)
    print(json.dumps({"folder": str(folder), "vocabulary_size": vocabulary_size}))


main()
