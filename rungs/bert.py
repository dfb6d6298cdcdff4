"""BERT's encoder on PyTorch's own transformer layers, for one text at a time.

A query is a dozen tokens: there the general model class spends a third of its time outside the arithmetic, and importing
it takes longer than everything else that a search needs. PyTorch's fused layer has neither cost. Documents still go
through the general class, whose masked batches are faster. A test holds the two to the same vectors.

Source: Devlin et al. (2018); the layer is `torch.nn.TransformerEncoderLayer`, whose fused path is taken in inference.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rungs.errors import ModelError

__all__ = ["load_bert"]


def load_bert(folder: Path) -> Callable[[Any], Any]:
    """Read a BERT encoder.

    Parameters
    ----------
    folder
        With ``config.json`` and ``model.safetensors``, weights named as `transformers` names them.

    Returns
    -------
    callable
        Token ids, int64, shape ``(batch, length)``, nothing padded, to hidden states, float32, shape
        ``(batch, length, hidden)``.

    Raises
    ------
    ModelError
        When the folder holds another architecture.
    """
    import torch
    from safetensors.torch import load_file
    from torch import nn

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute")
    if kind != ("bert", "gelu", "absolute"):
        raise ModelError(f"{folder} holds a model of type {kind}, not a BERT encoder; use another embedding model")
    weights = load_file(folder / "model.safetensors")
    hidden, eps = config["hidden_size"], config["layer_norm_eps"]

    def layer(n: int) -> nn.Module:
        return _layer(weights, f"encoder.layer.{n}.", hidden, config["num_attention_heads"], eps)

    layers = nn.Sequential(*(layer(n) for n in range(config["num_hidden_layers"]))).eval()
    words = weights["embeddings.word_embeddings.weight"]
    # one segment only, so its type is the same constant at every position
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    scale, shift = weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"]

    def run(tokens: Any) -> Any:
        embedded = words[tokens] + positions[: tokens.shape[1]]
        return layers(torch.nn.functional.layer_norm(embedded, (hidden,), scale, shift, eps))

    return run


def _layer(weights: dict[str, Any], prefix: str, hidden: int, heads: int, eps: float) -> Any:
    import torch
    from torch import nn

    def of(name: str, part: str) -> Any:
        return weights[f"{prefix}{name}.{part}"]

    wide = of("intermediate.dense", "weight").shape[0]
    layer = nn.TransformerEncoderLayer(hidden, heads, wide, activation="gelu", layer_norm_eps=eps, batch_first=True)
    names = {
        "self_attn.out_proj": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "linear1": "intermediate.dense",
        "linear2": "output.dense",
        "norm2": "output.LayerNorm",
    }
    state = {f"{mine}.{part}": of(its, part) for mine, its in names.items() for part in ("weight", "bias")}
    for part in ("weight", "bias"):
        stacked = [of(f"attention.self.{name}", part) for name in ("query", "key", "value")]
        state[f"self_attn.in_proj_{part}"] = torch.cat(stacked)
    layer.load_state_dict(state)
    return layer
