/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a checkpoint: as it is, which its seal refuses; and sealed anew, as someone who
 * means harm can do, so that what is behind the seal is reached too. */
#include "fuzz.h"
#include "train/checkpoint.h"
#include "train/sealed_json.h"

#include <string.h>

static void open_it(const weir_run_identity *identity) {
  weir_progress progress;
  json_t *history;
  if (weir_checkpoint_open(fuzz_directory(), identity, &progress, &history) != WEIR_OK) return;
  FUZZ_DEMAND(progress.step >= 0 && json_is_array(history));
  json_decref(history);
}

/* A state takes the place of weir_state.json; anything with a log history that of
 * trainer_state.json, beside a state that is right. */
static void seal_and_open(json_t *json, const weir_run_identity *identity) {
  static const char state[] =
      "{\"format_version\":1,\"model_dtype\":\"f32\",\"recipe\":{\"seed\":42},\"machine\":{},"
      "\"data\":\"0000000000000001\",\"model\":\"0000000000000002\",\"progress\":{\"step\":7,"
      "\"n_tokens\":9,\"n_supervised\":5,\"n_skipped\":1,\"loss_sum\":1.5,\"seconds\":0.5,"
      "\"interval_steps\":1,\"interval_rows\":2,"
      "\"interval_correct\":1,\"interval_loss\":0.5,\"interval_entropy\":0.5,\"best_step\":-1,"
      "\"best_eval_loss\":0.0}}";
  const bool is_trainer_state = json_object_get(json, "log_history");
  static const char trainer_state[] = "{\"log_history\":[]}";
  json_t *sealed = is_trainer_state ? json_loads(state, 0, NULL) : json_incref(json);
  if (is_trainer_state) {
    char *text = json_dumps(json, 0);
    if (text) fuzz_file("trainer_state.json", (const uint8_t *)text, strlen(text));
    free(text);
  } else {
    fuzz_file("trainer_state.json", (const uint8_t *)trainer_state, strlen(trainer_state));
  }
  if (weir_sealed_json_write(fuzz_directory(), "weir_state.json", sealed) == WEIR_OK)
    open_it(identity);
  json_decref(sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  json_t *recipe = json_pack("{s:i}", "seed", 42), *machine = json_object();
  const weir_run_identity identity = {recipe, machine, 1, 2};
  fuzz_file("weir_state.json", bytes, n_bytes);
  open_it(&identity);
  json_t *json = json_loadb((const char *)bytes, n_bytes, JSON_REJECT_DUPLICATES, NULL);
  if (json_is_object(json)) seal_and_open(json, &identity);
  json_decref(json);
  json_decref(recipe);
  json_decref(machine);
  return 0;
}
