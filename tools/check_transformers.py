#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does Transformers read a model that Weir wrote, and does it compute the same?

    VENV/bin/python tools/check_transformers.py DIRECTORY IDS.json [WEIR]     WEIR: build/weir

Loads DIRECTORY as any user would (missing, unexpected or mismatched tensors are errors), runs it in
f64 (see golden.py, which also says how to make VENV), and compares
    the log-probability of every token of IDS.json, and the loss    with `weir eval --per-token`
    the loss and every gradient                                     with `weir gradients`, cpu and ref
Prints each disagreement relative to the values' 2-norm; exits 1 where one is beyond what the device
is held to (tests/test_golden.c)."""

import json
import pathlib
import subprocess
import sys
import tempfile

import safetensors.torch
import torch
import transformers

import golden


def load(directory):
    """The model in f64, after from_pretrained has found nothing to complain about."""
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        directory, output_loading_info=True)
    if any(report.values()):
        sys.exit(f"{directory}: Transformers complains: {report}")
    wide = golden.build(model.config)
    state = {key: value.double() for key, value in model.state_dict().items()}
    wide.load_state_dict(state)
    return wide


def relative(found, expected, floor=0.0):
    return ((found.double() - expected).norm() / (expected.norm() + floor)).item()


def weir(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def compare_tokens(program, directory, ids_file, logprobs, loss):
    report = json.loads(weir(program, "eval", "--model", directory, "--ids", ids_file,
                             "--per-token", "--json"))
    # One entry per token; the first of a sequence is not predicted.
    found = -torch.tensor(report["token_losses"][1:], dtype=torch.float64)
    assert found.shape == logprobs.shape, (found.shape, logprobs.shape)
    return {"log-probabilities (cpu)": (relative(found, logprobs), 1e-5),
            "loss (cpu)": (abs(report["loss"] - loss) / loss, 1e-5)}


def compare_gradients(program, directory, ids_file, device, gradients, loss, tolerance):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "gradients.safetensors"
        line = weir(program, "gradients", "--model", directory, "--ids", ids_file,
                    "--device", device, "--output", output)
        found = safetensors.torch.load_file(output)
    word, number = line.split()
    assert word == "loss" and set(found) == set(gradients), set(found) ^ set(gradients)
    # On cpu a tensor may be off by 1e-8 of all gradients: 1e-3 of it counts as its own size.
    everything = torch.stack([value.norm() for value in gradients.values()]).norm().item()
    floor = 1e-3 * everything if device == "cpu" else 0.0
    worst = max(found, key=lambda name: relative(found[name], gradients[name], floor))
    return {f"loss ({device})": (abs(float(number) - loss) / loss, tolerance),
            f"{worst}, the worst gradient ({device})":
                (relative(found[worst], gradients[worst], floor), tolerance)}


def main():
    directory, ids_file = sys.argv[1:3]
    program = sys.argv[3] if len(sys.argv) > 3 else "build/weir"
    ids = torch.tensor(json.loads(pathlib.Path(ids_file).read_text()))
    model = load(directory)
    output = golden.run(model, ids)
    loss = output.loss.item()
    logprobs = output.logits[0, :-1].detach().log_softmax(-1).gather(1, ids[1:, None])[:, 0]
    gradients = {key: value.grad for key, value in model.named_parameters()}

    results = compare_tokens(program, directory, ids_file, logprobs, loss)
    results |= compare_gradients(program, directory, ids_file, "cpu", gradients, loss, 1e-5)
    results |= compare_gradients(program, directory, ids_file, "ref", gradients, loss, 1e-9)
    for what, (error, tolerance) in results.items():
        print(f"{error:9.2e} of {tolerance:g} allowed: {what}")
    sys.exit(0 if all(error <= tolerance for error, tolerance in results.values()) else 1)


if __name__ == "__main__":
    main()
