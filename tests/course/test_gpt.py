"""The small language model and the loader of GPT-2's weights."""

import math

import pytest
import torch
import torch.nn.functional as F
from graded_kernels.course import gpt
from graded_kernels.course.gpt import train
from graded_kernels.course.gpt.weights import SHIPPED, save
from safetensors.torch import load_file, save_file


@pytest.fixture
def published(tmp_path):
    """A small file as Hugging Face publishes GPT-2: prefix, float32, causal masks, the tied output layer again."""
    generator = torch.Generator().manual_seed(3)
    width, layers, vocab, context = 128, 2, 50, 16

    def noise(*shape):
        return torch.randn(shape, generator=generator) * 0.3

    tensors = {"wte.weight": noise(vocab, width), "wpe.weight": noise(context, width)}
    for layer in range(layers):
        for name, (inputs, outputs) in {
            "attn.c_attn": (width, 3 * width),
            "attn.c_proj": (width, width),
            "mlp.c_fc": (width, 4 * width),
            "mlp.c_proj": (4 * width, width),
        }.items():
            tensors[f"h.{layer}.{name}.weight"] = noise(inputs, outputs) * 0.2
            tensors[f"h.{layer}.{name}.bias"] = noise(outputs)
        tensors[f"h.{layer}.attn.bias"] = torch.ones(1, 1, context, context).tril()
        tensors[f"h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    for norm in [f"h.{layer}.ln_{i}" for layer in range(layers) for i in (1, 2)] + ["ln_f"]:
        tensors[f"{norm}.weight"], tensors[f"{norm}.bias"] = 1 + noise(width), noise(width)
    tensors["lm_head.weight"] = tensors["wte.weight"].clone()
    path = tmp_path / "model.safetensors"
    save_file({f"transformer.{k}" if k != "lm_head.weight" else k: v for k, v in tensors.items()}, path)
    return path, {k: v.double() for k, v in tensors.items()}


def by_the_paper(weights: dict, tokens: list[int], heads: int) -> torch.Tensor:
    """openai/gpt-2, src/model.py, written out in float64, one position and one head after the other."""

    def norm(x, name):
        centred = x - x.mean()
        return centred / torch.sqrt((centred**2).mean() + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def affine(x, name):
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    xs = [weights["wte.weight"][t] + weights["wpe.weight"][i] for i, t in enumerate(tokens)]
    for layer in range(sum(name.endswith("ln_1.weight") for name in weights)):
        qkv = [affine(norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn").chunk(3) for x in xs]
        mixed = []
        for i in range(len(xs)):
            parts = []
            for head in range(heads):
                q, *_ = (part.chunk(heads)[head] for part in qkv[i])
                scores = torch.stack([q @ qkv[j][1].chunk(heads)[head] for j in range(i + 1)]) / math.sqrt(len(q))
                values = torch.stack([qkv[j][2].chunk(heads)[head] for j in range(i + 1)])
                parts.append(torch.softmax(scores, 0) @ values)
            mixed.append(xs[i] + affine(torch.cat(parts), f"h.{layer}.attn.c_proj"))
        xs = [
            x + affine(gelu(affine(norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc")), f"h.{layer}.mlp.c_proj")
            for x in mixed
        ]
    return torch.stack([norm(x, "ln_f") @ weights["wte.weight"].t() for x in xs])


def test_published_file_gives_the_papers_logits(published):
    path, weights = published
    model = gpt.load(path)
    tokens = [7, 3, 49, 0, 7, 21]
    logits = model(torch.tensor([tokens]))[0]
    torch.testing.assert_close(logits.double(), by_the_paper(weights, tokens, heads=2), rtol=1e-4, atol=1e-4)


def test_the_activation_is_the_callers(published):
    model, tokens = gpt.load(published[0]), torch.tensor([[7, 3, 49, 0]])
    assert not torch.equal(model(tokens), model(tokens, F.relu))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop("transformer.h.1.mlp.c_fc.bias"), "h.1.mlp.c_fc.bias"),
        (lambda t: t.update({"transformer.h.0.extra.weight": torch.ones(2)}), "h.0.extra.weight"),
        (lambda t: t.update({"transformer.ln_f.bias": torch.ones(3)}), "ln_f.bias"),
        (lambda t: t.pop("transformer.wpe.weight"), "has no wpe.weight"),
        (lambda t: t["lm_head.weight"].add_(1), "lm_head.weight is not wte.weight"),
    ],
)
def test_another_file_is_refused_with_the_tensors_name(published, change, words):
    tensors = load_file(published[0])
    change(tensors)
    save_file(tensors, published[0])
    with pytest.raises(ValueError, match=words):
        gpt.load(published[0])


def test_missing_file_is_told_where_it_comes_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="openai-community/gpt2"):
        gpt.load(tmp_path / "model.safetensors")


def test_shipped_model_is_small_and_has_learned_the_diary():
    assert SHIPPED.stat().st_size < 500_000
    model = gpt.shipped()
    text = gpt.encode(gpt.corpus(60, seed=1))
    window = text[: len(text) // 129 * 129].view(-1, 129)
    with torch.no_grad():
        loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
    assert loss < 0.2  # nats a character; 3.9 are a guess
    written = gpt.decode(model.write(gpt.encode("Monday. "), 60))
    assert written.startswith("Monday. ")
    assert ", wind from the " in written


@pytest.mark.exhaustive
def test_training_again_makes_a_file_that_loads(tmp_path, capsys):
    path = tmp_path / "again.safetensors"
    train.main(["--steps", "2", "--out", str(path)])
    assert "step     2   loss" in capsys.readouterr().out
    model = gpt.load(path)
    assert [len(model.h), model.h[0].attn.heads, model.wpe.num_embeddings] == [train.LAYERS, train.HEADS, train.CONTEXT]


def test_saving_keeps_float16s_digits_and_the_number_of_heads(tmp_path):
    model = gpt.GPT(vocab=9, context=8, width=12, layers=1, heads=3)
    save(model, tmp_path / "small.safetensors")
    again = gpt.load(tmp_path / "small.safetensors")
    assert again.h[0].attn.heads == 3
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor.half().float())


def test_corpus_is_the_same_for_the_same_seed_and_spelled_in_its_alphabet():
    text = gpt.corpus(50, seed=5)
    assert text == gpt.corpus(50, seed=5) != gpt.corpus(50, seed=6)
    assert gpt.decode(gpt.encode(text)) == text
    with pytest.raises(ValueError, match="'5'"):
        gpt.encode("5 boats")
