/* SPDX-License-Identifier: Apache-2.0
 *
 * Every option of every command: the one place to add or change one.  Names and defaults are those
 * of Hugging Face Transformers and TRL wherever they have the thing. */
#include "cli/commands.h"

enum {
  INIT = WEIR_COMMAND_INIT,
  TRAIN = WEIR_COMMAND_TRAIN,
  EVAL = WEIR_COMMAND_EVAL,
  GENERATE = WEIR_COMMAND_GENERATE,
  TOKENIZE = WEIR_COMMAND_TOKENIZE,
  TOKENIZER_TRAIN = WEIR_COMMAND_TOKENIZER_TRAIN,
  GRADIENTS = WEIR_COMMAND_GRADIENTS,
  PLAN = WEIR_COMMAND_PLAN,
  INSPECT = WEIR_COMMAND_INSPECT,
  HELP = WEIR_COMMAND_HELP,
  WORKERS = INIT | TRAIN | EVAL | GENERATE | TOKENIZE | TOKENIZER_TRAIN | GRADIENTS | PLAN,
  STREAMED = TRAIN | EVAL | GRADIENTS | PLAN, /* commands that run the streamed step */
};

#define FLAG(text)          .type = WEIR_OPTION_BOOLEAN, .default_text = "false", .name = text
#define INTEGER(text)       .type = WEIR_OPTION_INTEGER, .name = text
#define REAL(text)          .type = WEIR_OPTION_REAL, .name = text
#define BYTES(text)         .type = WEIR_OPTION_BYTES, .unit = "SIZE", .name = text
#define CHOICE(text, list)  .type = WEIR_OPTION_CHOICE, .choices = (list), .name = text
#define STRING(text, what)  .type = WEIR_OPTION_STRING, .unit = (what), .name = text
#define STRINGS(text, what) .type = WEIR_OPTION_STRINGS, .unit = (what), .name = text

/* clang-format off */
const weir_option weir_option_table[] = {
  /* --- what goes in and out ------------------------------------------------------------------- */
  {STRING("input", "FILE"), .positional = true, .group = "Input",
   .commands = TOKENIZE, .required_by = TOKENIZE,
   .help = "the text to encode, or with --decode the JSON array of ids; - is standard input"},
  {STRING("input", "FILE"), .positional = true, .group = "Input",
   .commands = INSPECT, .required_by = INSPECT, .help = "a safetensors file"},
  {STRINGS("command", "COMMAND"), .positional = true, .group = "Input",
   .commands = HELP, .help = "the command to explain"},
  {STRING("model_name_or_path", "DIR"), .alias = "model", .group = "Model",
   .commands = TRAIN | EVAL | GENERATE | GRADIENTS | PLAN,
   .required_by = TRAIN | EVAL | GENERATE | GRADIENTS,
   .help = "a model directory; nothing is ever downloaded"},
  {STRING("model_config", "FILE"), .group = "Model", .commands = INIT | PLAN, .required_by = INIT,
   .help = "a config.json"},
  {STRING("tokenizer", "DIR|FILE"), .group = "Model", .commands = INIT | TOKENIZE,
   .required_by = INIT | TOKENIZE, .help = "a tokenizer.json, or the directory that holds it"},
  {STRING("output_dir", "DIR"), .alias = "output", .group = "Output",
   .commands = INIT | TRAIN | TOKENIZER_TRAIN, .required_by = INIT | TRAIN | TOKENIZER_TRAIN,
   .help = "the directory to write into"},
  {STRING("output_dir", "FILE"), .alias = "output", .group = "Output",
   .commands = GRADIENTS, .required_by = GRADIENTS, .help = "the safetensors file to write"},
  {FLAG("overwrite_output_dir"), .group = "Output", .commands = TRAIN,
   .help = "start anew in an output directory that is not empty"},
  {CHOICE("save_dtype", "f32|bf16|f16"), .group = "Output", .commands = TRAIN,
   .help = "dtype of the final model; unset: the dtype it was trained in"},
  {STRINGS("train_file", "FILE"), .group = "Data", .commands = TRAIN | TOKENIZER_TRAIN,
   .required_by = TRAIN | TOKENIZER_TRAIN,
   .help = "text files, or .jsonl with one {\"text\": ...} a line"},
  {STRING("validation_file", "FILE"), .group = "Data", .commands = TRAIN,
   .help = "evaluate on this file"},
  {REAL("validation_split"), .default_text = "0", .range = "[0, 1)", .group = "Data",
   .commands = TRAIN, .help = "evaluate on this part of the training documents instead"},
  {STRING("file", "FILE"), .group = "Data", .commands = EVAL, .help = "a text or .jsonl file"},
  {STRING("ids", "FILE.json"), .group = "Data", .commands = EVAL | GENERATE,
   .help = "token ids instead of text: a JSON array"},
  {STRING("ids", "FILE.json"), .group = "Data", .commands = GRADIENTS, .required_by = GRADIENTS,
   .help = "the sequence, as a JSON array of token ids"},
  {INTEGER("max_length"), .default_text = "1024", .range = "[2, 16777216]", .unit = "tokens",
   .group = "Data", .commands = TRAIN | EVAL,
   .help = "length of a row; documents are packed into rows, longer ones are cut"},
  {INTEGER("max_length"), .range = "[2, 16777216]", .unit = "tokens", .group = "Data",
   .commands = PLAN, .required_by = PLAN, .help = "length of a row"},
  {STRING("document_separator", "TEXT"), .group = "Data", .commands = TRAIN | EVAL,
   .help = "ends a document inside a text file; unset: each text file is one document"},
  {.type = WEIR_OPTION_BOOLEAN, .default_text = "true", .name = "append_eos", .group = "Data",
   .commands = TRAIN | EVAL, .help = "end every document with the tokenizer's end token"},
  {INTEGER("vocab_size"), .range = "[257, 16777216]", .unit = "tokens", .group = "Data",
   .commands = TOKENIZER_TRAIN, .required_by = TOKENIZER_TRAIN,
   .help = "size of the vocabulary to learn, special tokens included"},

  /* --- training ------------------------------------------------------------------------------- */
  {INTEGER("per_device_train_batch_size"), .default_text = "1", .range = "[1, 65536]",
   .unit = "rows", .group = "Batch", .commands = TRAIN | PLAN,
   .help = "rows of max_length in a micro-batch"},
  {INTEGER("gradient_accumulation_steps"), .default_text = "1", .range = "[1, 65536]",
   .unit = "micro-batches", .group = "Batch", .commands = TRAIN | PLAN,
   .help = "micro-batches in one optimizer step"},
  {REAL("num_train_epochs"), .default_text = "3", .range = "(0, inf)", .unit = "epochs",
   .group = "Batch", .commands = TRAIN, .help = "passes over the data where max_steps is unset"},
  {INTEGER("max_steps"), .default_text = "-1", .range = "[-1, inf)", .unit = "steps",
   .group = "Batch", .commands = TRAIN, .help = "optimizer steps; -1: as num_train_epochs says"},
  {REAL("learning_rate"), .default_text = "2e-5", .range = "[0, inf)", .group = "Optimizer",
   .commands = TRAIN, .help = "peak learning rate"},
  {CHOICE("lr_scheduler_type", "constant|constant_with_warmup|linear|cosine|cosine_with_min_lr"),
   .default_text = "linear", .group = "Optimizer", .commands = TRAIN,
   .help = "how the learning rate goes on after the warm-up"},
  {REAL("min_lr_rate"), .default_text = "0", .range = "[0, 1]", .group = "Optimizer",
   .commands = TRAIN, .help = "where cosine ends, as a part of learning_rate"},
  {INTEGER("warmup_steps"), .default_text = "0", .range = "[0, inf)", .unit = "steps",
   .group = "Optimizer", .commands = TRAIN, .help = "steps of linear warm-up; wins over warmup_ratio"},
  {REAL("warmup_ratio"), .default_text = "0", .range = "[0, 1]", .group = "Optimizer",
   .commands = TRAIN, .help = "part of all steps that warms up"},
  {REAL("weight_decay"), .default_text = "0", .range = "[0, inf)", .group = "Optimizer",
   .commands = TRAIN, .help = "decoupled weight decay, not on norms and biases"},
  {REAL("adam_beta1"), .default_text = "0.9", .range = "[0, 1)", .group = "Optimizer",
   .commands = TRAIN, .help = "decay of the gradient's running mean"},
  {REAL("adam_beta2"), .default_text = "0.999", .range = "[0, 1)", .group = "Optimizer",
   .commands = TRAIN, .help = "decay of the squared gradient's running mean"},
  {REAL("adam_epsilon"), .default_text = "1e-8", .range = "[0, inf)", .group = "Optimizer",
   .commands = TRAIN, .help = "added to the root of the squared gradient"},
  {REAL("max_grad_norm"), .default_text = "1", .range = "[0, inf)", .group = "Optimizer",
   .commands = TRAIN, .help = "clip the global norm of the gradient to this; 0: never"},
  {INTEGER("logging_steps"), .default_text = "10", .range = "[1, inf)", .unit = "steps",
   .group = "Run", .commands = TRAIN, .help = "steps between two lines of metrics"},
  {INTEGER("eval_steps"), .default_text = "0", .range = "[0, inf)", .unit = "steps",
   .group = "Run", .commands = TRAIN, .help = "steps between evaluations; 0: only at the end"},
  {INTEGER("save_steps"), .default_text = "500", .range = "[0, inf)", .unit = "steps",
   .group = "Run", .commands = TRAIN, .help = "steps between checkpoints; 0: only at the end"},
  {INTEGER("save_total_limit"), .range = "[1, inf)", .unit = "checkpoints", .group = "Run",
   .commands = TRAIN, .help = "keep only the newest this many; unset: all"},
  {STRING("resume_from_checkpoint", "latest|DIR"), .group = "Run", .commands = TRAIN,
   .help = "go on from a checkpoint, bit for bit"},
  {FLAG("dry_run"), .group = "Run", .commands = TRAIN, .help = "plan, check and print; train nothing"},

  /* --- precision ------------------------------------------------------------------------------ */
  {CHOICE("activation_dtype", "f32|bf16"), .default_text = "f32", .group = "Precision",
   .commands = STREAMED, .help = "values of the layers are rounded to this and stashed in it"},

  /* --- memory --------------------------------------------------------------------------------- */
  {BYTES("memory"), .range = "[1, inf)", .group = "Memory", .commands = TRAIN | PLAN,
   .help = "what the process may hold; refused (exit 3) where it does not fit"},
  {INTEGER("chunk_rows"), .default_text = "512", .range = "[1, inf)", .unit = "rows",
   .group = "Memory", .commands = STREAMED, .help = "tokens that pass through a layer at a time"},
  {INTEGER("head_rows"), .default_text = "512", .range = "[1, inf)", .unit = "rows",
   .group = "Memory", .commands = STREAMED, .help = "tokens that pass through the head at a time"},
  {INTEGER("head_columns"), .default_text = "8192", .range = "[1, inf)", .unit = "classes",
   .group = "Memory", .commands = STREAMED, .help = "width of a tile of logits"},
  {CHOICE("stash", "all|attn|input"), .default_text = "attn", .group = "Memory",
   .commands = TRAIN | GRADIENTS | PLAN, .help = "what forward keeps for backward, per layer"},

  /* --- results -------------------------------------------------------------------------------- */
  {STRING("prompt", "TEXT"), .group = "Text", .commands = GENERATE, .help = "the text to continue"},
  {STRING("prompt_file", "FILE"), .group = "Text", .commands = GENERATE,
   .help = "a file with the text to continue"},
  {INTEGER("max_new_tokens"), .range = "[1, 16777216]", .unit = "tokens", .group = "Text",
   .commands = GENERATE, .required_by = GENERATE, .help = "at most so many new tokens"},
  {REAL("temperature"), .default_text = "0", .range = "[0, inf)", .group = "Text",
   .commands = GENERATE, .help = "of the sampling; 0: always the likeliest token"},
  {INTEGER("top_k"), .default_text = "0", .range = "[0, inf)", .unit = "tokens", .group = "Text",
   .commands = GENERATE, .help = "sample from the k likeliest; 0: from all"},
  {REAL("top_p"), .default_text = "1", .range = "(0, 1]", .group = "Text", .commands = GENERATE,
   .help = "sample from the likeliest tokens that hold this much probability"},
  {FLAG("output_ids"), .group = "Text", .commands = GENERATE,
   .help = "write a JSON array of the new ids instead of text"},
  {FLAG("echo"), .group = "Text", .commands = GENERATE, .help = "write the prompt before the new text"},
  {FLAG("no_special_tokens"), .group = "Text", .commands = TOKENIZE,
   .help = "leave out the special tokens that the tokenizer adds by itself"},
  {FLAG("decode"), .group = "Text", .commands = TOKENIZE, .help = "from ids back to text, byte for byte"},
  {FLAG("json"), .group = "Report", .commands = EVAL | PLAN, .help = "write the result as JSON"},
  {FLAG("per_token"), .group = "Report", .commands = EVAL, .help = "report the loss of every token"},

  /* --- every command -------------------------------------------------------------------------- */
  {CHOICE("device", "cpu|ref"), .default_text = "cpu", .group = "General",
   .commands = GENERATE | GRADIENTS,
   .help = "cpu: fast, f32; ref: slow and obvious, f64"},
  {INTEGER("seed"), .default_text = "42", .range = "[0, inf)", .group = "General",
   .commands = INIT | TRAIN | GENERATE, .help = "of every random number"},
  {INTEGER("threads"), .range = "[1, 4096]", .unit = "threads", .group = "General",
   .commands = WORKERS, .help = "unset: one per core this process may use"},
  {STRING("config", "FILE.yaml"), .group = "General", .commands = WORKERS,
   .help = "read options from this file; flags win over it"},
  {FLAG("quiet"), .group = "General", .commands = WORKERS | INSPECT,
   .help = "no progress on standard error, only warnings and errors"},
};
/* clang-format on */

const size_t weir_n_option_rows = sizeof weir_option_table / sizeof *weir_option_table;
