/* SPDX-License-Identifier: Apache-2.0 */
#include "train/evaluate.h"

#include "base/interrupt.h"

#include <math.h>
#include <stdlib.h>

weir_status weir_evaluate_reserve(weir_batches *batches, int64_t *longest_tokens) {
  weir_batch_extent extent = weir_batches_survey(batches, 0, batches->steps_per_epoch);
  *longest_tokens = extent.first_tokens;
  if (batches->n_supervised_epoch == 0)
    return weir_fail(WEIR_BAD_INPUT, "no token to predict: every sequence is one token long");
  return weir_batches_reserve(batches, &extent);
}

/* Spreads the log-probabilities of a row over the places of its predicted tokens.  Rows are in
 * order, so step i is row i. */
static void spread(const weir_batches *batches, int64_t row, const double *logprobs,
                   double *token_losses) {
  const double *weights = batches->micro_batches[0].weights;
  int64_t t = 0;
  for (int64_t i = batches->rows->offsets[row]; i < batches->rows->offsets[row + 1]; i++) {
    const weir_span *span = &batches->rows->spans[i];
    for (int64_t k = 1; k < span->n_tokens; k++)
      if (weights[t + k - 1] != 0) token_losses[span->first_token + k] = -logprobs[t + k - 1];
    t += span->n_tokens;
  }
}

static weir_status run_rows(weir_run *run, weir_batches *batches, weir_evaluation *sums,
                            double *logprobs, double *token_losses) {
  for (int64_t row = 0; row < batches->steps_per_epoch; row++) {
    weir_step_result result;
    WEIR_TRY(weir_interrupt_status());
    weir_batches_load(batches, row);
    weir_step_evaluate(run, &batches->micro_batches[0], &result, logprobs);
    if (logprobs) spread(batches, row, logprobs, token_losses);
    sums->loss += result.loss;
    sums->mean_token_accuracy += result.n_correct;
    sums->entropy += result.entropy * result.n_rows;
  }
  return WEIR_OK;
}

weir_status weir_evaluate(weir_run *run, weir_batches *batches, weir_evaluation *evaluation,
                          double *token_losses) {
  WEIR_ASSERT(batches->settings.evaluate, ==, true);
  WEIR_ASSERT(batches->settings.rows_per_micro_batch, ==, 1);
  double *logprobs = NULL;
  if (token_losses) {
    logprobs = malloc((size_t)batches->reserved.first_tokens * sizeof *logprobs);
    if (!logprobs) return weir_fail(WEIR_FAILED, "no memory for the losses of a row");
    for (int64_t i = 0; i < batches->corpus->n_tokens; i++)
      token_losses[i] = NAN;
  }
  *evaluation = (weir_evaluation){.n_supervised = batches->n_supervised_epoch};
  weir_status status = run_rows(run, batches, evaluation, logprobs, token_losses);
  evaluation->mean_token_accuracy /= (double)evaluation->n_supervised;
  evaluation->entropy /= (double)evaluation->n_supervised;
  free(logprobs);
  return status;
}
