#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden values for tests/test_golden.c, computed by PyTorch and Hugging Face Transformers in f64.

For each tiny random model, tests/golden/NAME gets
    config.json          as Transformers writes it
    model.safetensors    F32 weights under Transformers' names, tied tensors once
    ids.json             one sequence of token ids
    golden.safetensors   F64: `logits` [T,V], `loss` [1] (mean next-token negative log-likelihood),
                         and the gradient of that loss under the name of every tensor of the model
    bf16.safetensors     what PyTorch makes of the same in bf16, weights rounded to bf16: `loss`
                         (F32) and the gradients (BF16); for tests/test_golden_bf16.c

Norm weights and biases are random too, so that a forgotten one shows.  Transformers narrows to f32
in places even when the model is f64 (norms, rotary angles, softmax, loss); class NoNarrowing undoes
that, and nothing is written before a second forward pass, in plain numpy below, has agreed on the
logits and, by central differences, on the gradients.

    python3 -m venv VENV && VENV/bin/pip install torch==2.6.0 transformers==4.57.1
    VENV/bin/python tools/golden.py [DIRECTORY [NAME...]]     default: tests/golden, all models

The project's tests read the committed files; they never need Python."""

import json
import math
import pathlib
import sys

import numpy as np
import safetensors.torch
import torch
import transformers
from torch.overrides import TorchFunctionMode

SEED = 20240607
N_TOKENS = 43

COMMON = dict(vocab_size=97, bos_token_id=1, eos_token_id=2)
LLAMA = dict(COMMON, hidden_size=32, intermediate_size=40, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
GEMMA = dict(COMMON, hidden_size=24, intermediate_size=36, num_hidden_layers=2, head_dim=8,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
             pad_token_id=None, query_pre_attn_scalar=10, sliding_window=9)
GPT2 = dict(COMMON, n_embd=32, n_layer=2, n_head=4, n_positions=48, resid_pdrop=0.0,
            embd_pdrop=0.0, attn_pdrop=0.0)

MODELS = {
    "llama": transformers.LlamaConfig(
        **LLAMA, rms_norm_eps=1e-5, rope_theta=500000.0, tie_word_embeddings=False),
    "llama-tied-biases": transformers.LlamaConfig(
        **LLAMA, rms_norm_eps=1e-6, tie_word_embeddings=True, attention_bias=True, mlp_bias=True),
    "qwen3": transformers.Qwen3Config(
        **dict(LLAMA, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1),
        head_dim=12, rms_norm_eps=1e-6, rope_theta=1000000.0, tie_word_embeddings=True),
    "llama3": transformers.LlamaConfig(  # of its 6 frequencies some are kept, some ramped
        **dict(LLAMA, hidden_size=24, num_attention_heads=2, num_key_value_heads=1),
        rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True,
        rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                          high_freq_factor=4.0, original_max_position_embeddings=40)),
    "llama-linear": transformers.LlamaConfig(
        **dict(LLAMA, hidden_size=24, num_hidden_layers=1), tie_word_embeddings=True,
        rope_scaling=dict(rope_type="linear", factor=4.0)),
    "qwen2": transformers.Qwen2Config(
        **dict(LLAMA, num_hidden_layers=2), rms_norm_eps=1e-6, rope_theta=1000000.0,
        tie_word_embeddings=True),
    "qwen2-windows": transformers.Qwen2Config(  # a window from the second layer on
        **dict(LLAMA, hidden_size=24, num_hidden_layers=3), tie_word_embeddings=True,
        use_sliding_window=True, sliding_window=9, max_window_layers=1),
    "qwen3-windows": transformers.Qwen3Config(
        **dict(LLAMA, hidden_size=24, num_hidden_layers=3), head_dim=8, tie_word_embeddings=True,
        use_sliding_window=True, sliding_window=4,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "mistral": transformers.MistralConfig(
        **dict(LLAMA, hidden_size=24), head_dim=8, rms_norm_eps=1e-5, sliding_window=None,
        tie_word_embeddings=False),
    "mistral-windows": transformers.MistralConfig(
        **dict(LLAMA, hidden_size=24), sliding_window=10, tie_word_embeddings=True),
    "phi3": transformers.Phi3Config(
        **dict(LLAMA, hidden_size=24, intermediate_size=36), pad_token_id=0, sliding_window=11,
        tie_word_embeddings=False),
    # Caps near the size of what they cap.
    "gemma2": transformers.Gemma2Config(
        **GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    "gemma2-uncapped": transformers.Gemma2Config(
        **dict(GEMMA, num_hidden_layers=1), attn_logit_softcapping=None,
        final_logit_softcapping=None, attention_bias=True),
    "gemma3": transformers.Gemma3TextConfig(
        **dict(GEMMA, num_hidden_layers=3), sliding_window_pattern=3, rope_theta=50000.0,
        rope_local_base_freq=300.0, final_logit_softcapping=4.0),
    "gemma3-linear": transformers.Gemma3TextConfig(
        **GEMMA, sliding_window_pattern=2, rope_theta=2000.0, rope_local_base_freq=100.0,
        rope_scaling=dict(rope_type="linear", factor=8.0)),
    "gpt2": transformers.GPT2Config(**GPT2),
    "gpt2-untied-gelu": transformers.GPT2Config(
        **GPT2, n_inner=40, activation_function="gelu", layer_norm_epsilon=1e-6,
        tie_word_embeddings=False),
}


class NoNarrowing(TorchFunctionMode):
    """Every request for f32 becomes one for f64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if value is torch.float32 else value

        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args = tuple(widen(value) for value in args)
        return func(*args, **{key: widen(value) for key, value in (kwargs or {}).items()})


def fill(model, generator):
    """Random values that f32 holds exactly; norms around 1, matrices at a scale that makes
    attention far from uniform."""
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        if "norm" in name or "ln_" in name:
            one = name.endswith("weight") and not model.config.model_type.startswith("gemma")
            value = 0.3 * noise + (1.0 if one else 0.0)  # Gemma's are stored less 1
        elif name.endswith("bias"):
            value = 0.3 * noise
        elif "embed" in name or "wte" in name or "wpe" in name:
            value = 0.4 * noise
        else:
            value = 0.25 * noise
        with torch.no_grad():
            parameter.copy_(value.to(torch.float32).to(torch.float64))


# --- The second opinion: the same models written down from their papers, in numpy. -------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms_norm(x, w, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def layer_norm(x, w, b, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w + b


def frequencies(c, size, window):  # [K/2]
    local = window and getattr(c, "rope_local_base_freq", None)
    f = (local or c.rope_theta) ** (-np.arange(0, size, 2, dtype=np.float64) / size)
    s = None if local else getattr(c, "rope_scaling", None)
    if s and s["rope_type"] == "linear":
        return f / s["factor"]
    if s and s["rope_type"] == "llama3":
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        turns = s["original_max_position_embeddings"] * f / (2 * math.pi)
        kept = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - kept) * f / s["factor"] + kept * f
    return f


def rope(x, f):  # [T, heads, K], [K/2]
    n_tokens, _, size = x.shape
    angles = np.arange(n_tokens)[:, None] * f
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = x[..., : size // 2], x[..., size // 2:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def soft_cap(x, cap):
    return cap * np.tanh(x / cap) if cap else x


def attention(q, k, v, window=None, scale=None, cap=None):
    """[T, heads, K], causal; the last `window` keys, one's own too."""
    n_tokens, n_heads, size = q.shape
    k, v = (np.repeat(x, n_heads // x.shape[1], 1) for x in (k, v))
    scores = soft_cap(np.einsum("thk,shk->hts", q, k) * (scale or size**-0.5), cap)
    distance = np.arange(n_tokens)[:, None] - np.arange(n_tokens)
    scores[:, (distance < 0) | (distance >= (window or n_tokens))] = -np.inf
    return np.einsum("hts,shk->thk", softmax(scores), v).reshape(n_tokens, -1)


def window_of(c, layer):
    types = getattr(c, "layer_types", None)
    if types:
        return c.sliding_window if types[layer] == "sliding_attention" else None
    return getattr(c, "sliding_window", None)


def unfused(c, w):
    """Phi-3's fused weights as Llama's."""
    parts = {}
    for name, value in w.items():
        if name.endswith("qkv_proj.weight"):
            size = c.hidden_size // c.num_attention_heads
            at = np.cumsum([c.num_attention_heads * size, c.num_key_value_heads * size])
            for p, part in zip("qkv", np.split(value, at)):
                parts[name.replace("qkv_proj", p + "_proj")] = part
        elif name.endswith("gate_up_proj.weight"):
            for p, part in zip(("gate", "up"), np.split(value, 2)):
                parts[name.replace("gate_up_proj", p + "_proj")] = part
    return dict(w, **parts)


def forward_llama(c, w, ids):
    """Llama and its kin: logits [T,V]."""
    eps, size = c.rms_norm_eps, getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads

    w = unfused(c, w)

    def linear(name, x):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0.0)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(c.num_hidden_layers):
        at = f"model.layers.{i}."
        n = rms_norm(x, w[at + "input_layernorm.weight"], eps)
        q, k, v = (linear(at + f"self_attn.{p}_proj", n).reshape(len(ids), -1, size) for p in "qkv")
        if at + "self_attn.q_norm.weight" in w:
            q = rms_norm(q, w[at + "self_attn.q_norm.weight"], eps)
            k = rms_norm(k, w[at + "self_attn.k_norm.weight"], eps)
        f = frequencies(c, size, window_of(c, i))
        q, k = rope(q, f), rope(k, f)
        x = x + linear(at + "self_attn.o_proj", attention(q, k, v, window_of(c, i)))
        n = rms_norm(x, w[at + "post_attention_layernorm.weight"], eps)
        gate = linear(at + "mlp.gate_proj", n)
        x = x + linear(at + "mlp.down_proj",
                       gate / (1 + np.exp(-gate)) * linear(at + "mlp.up_proj", n))
    x = rms_norm(x, w["model.norm.weight"], eps)
    return x @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def forward_gemma(c, w, ids):
    """Gemma 2 and 3: logits [T,V]."""
    eps, size = c.rms_norm_eps, c.head_dim

    def linear(name, x):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0.0)

    def norm(name, x):
        return rms_norm(x, 1 + w[name + ".weight"], eps)

    x = w["model.embed_tokens.weight"][ids] * math.sqrt(c.hidden_size)
    for i in range(c.num_hidden_layers):
        at = f"model.layers.{i}."
        n = norm(at + "input_layernorm", x)
        q, k, v = (linear(at + f"self_attn.{p}_proj", n).reshape(len(ids), -1, size) for p in "qkv")
        if at + "self_attn.q_norm.weight" in w:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        f = frequencies(c, size, window_of(c, i))
        o = attention(rope(q, f), rope(k, f), v, window_of(c, i), c.query_pre_attn_scalar**-0.5,
                      c.attn_logit_softcapping)
        x = x + norm(at + "post_attention_layernorm", linear(at + "self_attn.o_proj", o))
        n = norm(at + "pre_feedforward_layernorm", x)
        a = gelu(linear(at + "mlp.gate_proj", n), "gelu_new") * linear(at + "mlp.up_proj", n)
        x = x + norm(at + "post_feedforward_layernorm", linear(at + "mlp.down_proj", a))
    x = norm("model.norm", x)
    return soft_cap(x @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T,
                    c.final_logit_softcapping)


def gelu(x, kind):
    if kind == "gelu_new":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def forward_gpt2(c, w, ids):
    """GPT-2: logits [T,V]; its linear weights lie as [inputs, outputs]."""
    eps = c.layer_norm_epsilon

    def linear(name, x):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: len(ids)]
    for i in range(c.n_layer):
        at = f"transformer.h.{i}."
        qkv = linear(at + "attn.c_attn", norm(at + "ln_1", x))
        q, k, v = (part.reshape(len(ids), c.n_head, -1) for part in np.split(qkv, 3, -1))
        x = x + linear(at + "attn.c_proj", attention(q, k, v))
        up = linear(at + "mlp.c_fc", norm(at + "ln_2", x))
        x = x + linear(at + "mlp.c_proj", gelu(up, c.activation_function))
    x = norm("transformer.ln_f", x)
    return x @ w.get("lm_head.weight", w["transformer.wte.weight"]).T


def mean_loss(logits, ids):
    z = logits[:-1]
    top = z.max(-1)
    lse = np.log(np.exp(z - top[:, None]).sum(-1)) + top
    return float((lse - z[np.arange(len(z)), ids[1:]]).mean())


def check(name, config, weights, ids, logits, loss, gradients):
    """Fails unless numpy agrees with what Transformers computed."""
    forward = {"gpt2": forward_gpt2, "gemma2": forward_gemma, "gemma3_text": forward_gemma}.get(
        config.model_type, forward_llama)
    logits_error = np.abs(forward(config, weights, ids) - logits).max()
    loss_error = abs(mean_loss(forward(config, weights, ids), ids) - loss)
    assert logits_error <= 1e-12 * np.abs(logits).max(), (name, logits_error)
    assert loss_error <= 1e-13, (name, loss_error)

    random = np.random.default_rng(SEED)
    worst = 0.0
    for tensor, gradient in gradients.items():
        assert np.isfinite(gradient).all() and np.linalg.norm(gradient) > 0, (name, tensor)
        for _ in range(3):
            step = random.standard_normal(gradient.shape)
            slope = float((gradient * step).sum())

            def loss_at(h):
                moved = dict(weights, **{tensor: weights[tensor] + h * step})
                return mean_loss(forward(config, moved, ids), ids)

            h = 1e-3 / np.linalg.norm(step)  # five-point differences: the error is of order h^4
            found = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h)
            scale = np.linalg.norm(gradient) * np.linalg.norm(step)
            worst = max(worst, abs(found - slope) / scale)
    assert worst <= 1e-9, (name, worst)
    print(f"{name}: loss {loss:.17g}, logits within {logits_error:.1e}, "
          f"gradients within {worst:.1e} of central differences")


def build(config):
    """The model in f64 throughout, rotary frequencies included; its weights are yet to be set."""
    config._attn_implementation = "eager"
    with NoNarrowing():
        torch.set_default_dtype(torch.float64)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float64)
        torch.set_default_dtype(torch.float32)
    return model.eval()


def run(model, ids):
    """Logits and mean next-token loss of one sequence; gradients are left in the parameters."""
    with NoNarrowing():
        output = model(input_ids=ids[None], labels=ids[None], use_cache=False)
        output.loss.backward()
    assert output.logits.dtype == output.loss.dtype == torch.float64
    return output


def make_bf16(config, weights, ids, path, made_by):
    """Weights, activations and gradients in bf16, as PyTorch does it; rotary angles stay f32."""
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    for key, parameter in model.named_parameters():
        assert parameter.dtype == torch.bfloat16
        with torch.no_grad():
            parameter.copy_(weights[key].to(torch.bfloat16))
    loss = model(input_ids=ids[None], labels=ids[None], use_cache=False).loss
    loss.backward()
    gradients = {key: value.grad.contiguous() for key, value in model.named_parameters()}
    safetensors.torch.save_file({"loss": loss.detach().float()[None]} | gradients, path, made_by)


def make(name, config, directory):
    generator = torch.Generator().manual_seed(SEED)
    model = build(config)
    fill(model, generator)
    ids = torch.randint(0, config.vocab_size, (N_TOKENS,), generator=generator)
    output = run(model, ids)

    parameters = dict(model.named_parameters())  # tied tensors once
    gradients = {key: value.grad for key, value in parameters.items()}
    check(name, config, {key: value.detach().numpy() for key, value in parameters.items()},
          ids.numpy(), output.logits[0].detach().numpy(), output.loss.item(),
          {key: value.numpy() for key, value in gradients.items()})

    directory.mkdir(parents=True, exist_ok=True)
    config.dtype = torch.float32
    config.architectures = [type(model).__name__]
    config.save_pretrained(directory)
    weights = {key: value.detach().to(torch.float32).contiguous()
               for key, value in parameters.items()}
    assert all(torch.equal(weights[key].double(), value) for key, value in parameters.items())
    safetensors.torch.save_file(weights, directory / "model.safetensors", {"format": "pt"})
    (directory / "ids.json").write_text(json.dumps(ids.tolist()) + "\n")
    golden = {"logits": output.logits[0].detach().contiguous(), "loss": output.loss.detach()[None]}
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}, seed {SEED}"
    safetensors.torch.save_file(
        golden | {key: value.contiguous() for key, value in gradients.items()},
        directory / "golden.safetensors", {"made_by": made_by})
    make_bf16(config, weights, ids, directory / "bf16.safetensors", {"made_by": made_by})


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "tests" / "golden"
    torch.set_num_threads(1)
    for name, config in MODELS.items():
        if len(sys.argv) <= 2 or name in sys.argv[2:]:
            make(name, config, root / name)


if __name__ == "__main__":
    main()
