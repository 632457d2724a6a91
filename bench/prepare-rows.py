"""The other side of bench/prepare-rows.ts: transformers loads and encodes, tinker-cookbook prepares the rows. Prints one line of JSON.

    python bench/prepare-rows.py MODEL_FOLDER ROWS.jsonl RENDERER|none
"""

import array
import hashlib
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import transformers
from tinker_cookbook.renderers import TrainOnWhat, get_renderer
from tinker_cookbook.supervised.data import conversation_to_datum

transformers.logging.set_verbosity_error()


def bytes_of(tensor, kind):
    return array.array(kind, tensor.data).tobytes()


def prepare(path, renderer):
    """The rows as data of one digest: inputs, targets and weights of each, in the order of the file."""
    started = time.perf_counter()
    data = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            data.append(
                conversation_to_datum(messages, renderer, None, TrainOnWhat.LAST_ASSISTANT_MESSAGE, reduction="none")
            )
    took = time.perf_counter() - started
    digest = hashlib.sha256()
    for datum in data:
        digest.update(array.array("i", datum.model_input.to_ints()).tobytes())
        digest.update(bytes_of(datum.loss_fn_inputs["target_tokens"], "i"))
        digest.update(bytes_of(datum.loss_fn_inputs["weights"], "f"))
    return {"prepareMs": took * 1000, "digest": digest.hexdigest()}


def main(folder, rows, renderer_name):
    started = time.perf_counter()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.encode("ready", add_special_tokens=False)
    loaded = time.perf_counter()
    with open(rows, encoding="utf-8") as lines:
        texts = [message["content"] for line in lines for message in json.loads(line)["messages"]]
    began = time.perf_counter()
    tokens = sum(len(tokenizer.encode(text, add_special_tokens=False)) for text in texts)
    encoded = time.perf_counter()
    report = {"loadMs": (loaded - started) * 1000, "encodeMs": (encoded - began) * 1000, "tokens": tokens}
    if renderer_name != "none":
        renderer = get_renderer(renderer_name, tokenizer)
        if renderer_name.startswith("gpt_oss"):
            renderer.current_date = "2024-07-26"  # Ours is fixed, docs/renderers.md.
        report |= prepare(rows, renderer)
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
