"""A supervised config of the official cookbook for the small model, as one of its recipes would build it."""

from pathlib import Path
from typing import Any

from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.data import FromConversationFileBuilder
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig

MODEL = "everstep/tiny"
RENDERER = "role_colon"


def supervised(log_path: Path, data: Path, *, batch_size: int, test_size: int = 0, **more: Any) -> train.Config:
    settings: dict[str, Any] = {
        "learning_rate": 0.003,
        "lr_schedule": "linear",
        "lora_rank": 4,
        "num_epochs": 8,
        "save_every": 3,
        "eval_every": 0,
        "infrequent_eval_every": 0,
    }
    common = ChatDatasetBuilderCommonConfig(
        model_name_for_tokenizer=MODEL, renderer_name=RENDERER, max_length=128, batch_size=batch_size
    )
    return train.Config(
        log_path=str(log_path),
        model_name=MODEL,
        recipe_name="interop",
        renderer_name=RENDERER,
        dataset_builder=FromConversationFileBuilder(
            common_config=common, file_path=str(data), test_size=test_size
        ),
        **{**settings, **more},
    )
