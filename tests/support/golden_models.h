/* SPDX-License-Identifier: Apache-2.0
 *
 * The models of tests/golden, made by tools/golden.py. */
#ifndef WEIR_TESTS_SUPPORT_GOLDEN_MODELS_H
#define WEIR_TESTS_SUPPORT_GOLDEN_MODELS_H

static const char *const golden_models[] = {
    "llama",
    "llama-tied-biases",
    "llama3",
    "llama-linear",
    "qwen2",
    "qwen2-windows",
    "qwen3",
    "qwen3-windows",
    "mistral",
    "mistral-windows",
    "phi3",
    "gemma2",
    "gemma2-uncapped",
    "gemma3",
    "gemma3-linear",
    "gpt2",
    "gpt2-untied-gelu",
};
enum { N_GOLDEN_MODELS = sizeof golden_models / sizeof *golden_models };

#endif
