"""Weights in the format of GPT-2's safetensors files: the small model that comes with the course, or the real one.

``load("model.safetensors")`` reads the file that Hugging Face publishes as openai-community/gpt2, from your disk.
"""

from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from .model import GPT, Attention

SHIPPED = Path(__file__).with_name("diary.safetensors")
HEAD = 64  # width of an attention head in every GPT-2; another one has to be named in the file's metadata


def shipped() -> GPT:
    """The model that comes with this package, trained on lighthouse diaries. ``train.py`` makes another."""
    return load(SHIPPED)


def load(path: str | Path) -> GPT:
    """The model in a local safetensors file, in float32. Its size follows from the shapes of its tensors.

    Names may begin with ``transformer.``; causal masks and an output layer that is the embedding again are left out.
    Raises FileNotFoundError, or ValueError that says which tensors are missing, left over or of another shape.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not there. GPT-2's file is model.safetensors of openai-community/gpt2.")
    with safe_open(path, framework="pt") as file:
        tensors = {name.removeprefix("transformer."): file.get_tensor(name).float() for name in file.keys()}
        heads = (file.metadata() or {}).get("heads")
    tensors = {name: t for name, t in tensors.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    head = tensors.pop("lm_head.weight", None)
    if head is not None and not torch.equal(head, tensors.get("wte.weight", head)):
        raise ValueError(f"{path}: lm_head.weight is not wte.weight; this is not GPT-2, whose output layer is tied")
    for name in ("wte.weight", "wpe.weight"):
        if name not in tensors:
            raise ValueError(f"{path} has no {name}; a GPT-2 file has one")
    (vocab, width), context = tensors["wte.weight"].shape, len(tensors["wpe.weight"])
    layers = len({name.split(".")[1] for name in tensors if name.startswith("h.")})
    model = GPT(vocab, context, width, layers, int(heads) if heads else width // HEAD)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit GPT-2: {error}") from None
    return model.eval()


def save(model: GPT, path: str | Path) -> None:
    """Writes the weights in float16, half the size of float32; `load` makes them float32 again."""
    heads = next(module.heads for module in model.modules() if isinstance(module, Attention))
    tensors = {name: t.detach().half().contiguous() for name, t in model.state_dict().items()}
    save_file(tensors, path, metadata={"heads": str(heads)})
