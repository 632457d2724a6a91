"""Serve SkyRL's Tinker API with its JAX backend, on a CPU, without PyTorch.

    python serve.py api --base-model FOLDER --port 8000 [SkyRL's own options]

SkyRL imports torch (for images) and peft (to write one file) although the JAX backend trains with neither, and PyPI's
torch is the CUDA build of several gigabytes; both are replaced by what little is used of them. It also starts its
engine through `uv run`, which needs a checkout of its repository; here the engine is this program once more.

With EXIT_WITH_PARENT set, both end when their standard input does: a pipe from whoever started them.
"""

import importlib.machinery
import json
import os
import runpy
import signal
import sys
import threading
import types
import typing
from pathlib import Path

import transformers.utils.import_utils
import typing_extensions

# Before Python 3.12 pydantic refuses the one of the standard library, which SkyRL uses.
typing.TypedDict = typing_extensions.TypedDict

# transformers looks for torch once, and must have done so before the stand-in is there.
transformers.utils.import_utils.is_torch_available()


def stand_in(name: str, **contents: object) -> None:
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__version__ = "0"
    module.__dict__.update(contents)
    sys.modules[name] = module


class LoraConfig:
    """Only ever written beside an adapter's weights."""

    def __init__(self, **settings: object) -> None:
        self.settings = settings

    def save_pretrained(self, folder: object) -> None:
        text = json.dumps({"peft_type": "LORA", **self.settings})
        (Path(str(folder)) / "adapter_config.json").write_text(text)


stand_in("torch", Tensor=type("Tensor", (), {}))
stand_in("peft", LoraConfig=LoraConfig)


def exit_with_parent() -> None:
    def watch() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def serve_api() -> None:
    import argparse

    import skyrl.tinker.api as api
    import uvicorn
    from skyrl.tinker.config import EngineConfig, add_model, config_to_argv

    def engine_command(_parent: list[str], config: EngineConfig) -> list[str]:
        return [sys.executable, os.path.abspath(__file__), "engine", *config_to_argv(config)]

    api._build_uv_run_cmd_engine = engine_command
    parser = argparse.ArgumentParser()
    add_model(parser, EngineConfig)
    parser.add_argument("--port", type=int, default=8000)
    options = vars(parser.parse_args())
    fields = {name: value for name, value in options.items() if name in EngineConfig.model_fields}
    api.app.state.engine_config = EngineConfig.model_validate(fields)
    uvicorn.run(api.app, host="127.0.0.1", port=options["port"], access_log=False)


def main() -> None:
    if "EXIT_WITH_PARENT" in os.environ:
        exit_with_parent()
    role = sys.argv.pop(1)
    if role == "api":
        serve_api()
    else:
        runpy.run_module("skyrl.tinker.engine", run_name="__main__", alter_sys=True)


main()
