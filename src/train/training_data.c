/* SPDX-License-Identifier: Apache-2.0 */
#include "train/training_data.h"

#include "base/log.h"

weir_status weir_data_part_pack(weir_data_part *part, int64_t max_length,
                                const weir_batch_settings *settings) {
  WEIR_TRY(weir_rows_pack(&part->rows, &part->corpus, max_length));
  return weir_batches_create(&part->batches, &part->corpus, &part->rows, settings);
}

void weir_data_part_deinit(weir_data_part *part) {
  weir_batches_destroy(&part->batches);
  weir_rows_deinit(&part->rows);
  weir_corpus_deinit(&part->corpus);
}

uint64_t weir_data_part_bytes(const weir_data_part *part, const weir_batch_extent *extent) {
  return weir_corpus_bytes(&part->corpus) + weir_corpus_window_bytes(&part->corpus) +
         weir_rows_bytes(&part->rows) + weir_batches_bytes(&part->batches, extent);
}

void weir_data_part_log(const weir_data_part *part, const char *what, int64_t max_length) {
  const weir_corpus *corpus = &part->corpus;
  const weir_rows *rows = &part->rows;
  weir_log_info("%s: documents %lld, tokens %lld (end tokens: %lld), rows %lld of at most %lld",
                what, (long long)corpus->n_documents, (long long)corpus->n_tokens,
                (long long)weir_corpus_ended_documents(corpus), (long long)rows->n_rows,
                (long long)max_length);
  weir_log_info("%s: tokens supervised %lld, dropped %lld, truncated 0", what,
                (long long)rows->n_supervised, (long long)rows->n_left_out_tokens);
  if (rows->n_cut_documents > 0)
    weir_log_info("%s: documents longer than a row, cut into sequences of their own: %lld", what,
                  (long long)rows->n_cut_documents);
  if (corpus->counts.n_apart > 0)
    weir_log_info("%s: of %lld prompts with completions, %lld tokenized apart, where one token "
                  "would have held the end of the prompt and more",
                  what, (long long)corpus->counts.n_pairs, (long long)corpus->counts.n_apart);
  if (rows->n_left_out_spans > 0)
    weir_log_warning("%s: sequences in which nothing is supervised, left out: %lld (tokens: %lld)",
                     what, (long long)rows->n_left_out_spans, (long long)rows->n_left_out_tokens);
  if (corpus->counts.n_empty_documents > 0)
    weir_log_warning("%s: empty documents left out: %lld", what,
                     (long long)corpus->counts.n_empty_documents);
}

static weir_status read_corpora(weir_training_data *data, const weir_data_request *request,
                                uint64_t seed) {
  if (request->validation_file && request->validation_split > 0)
    return weir_fail(WEIR_BAD_INPUT, "validation_file and validation_split exclude each other");
  data->has_validation = request->validation_file || request->validation_split > 0;
  WEIR_TRY(weir_corpus_read(&data->train.corpus, &request->corpus, request->train_files,
                            request->n_train_files));
  if (request->validation_file)
    return weir_corpus_read(&data->validation.corpus, &request->corpus, &request->validation_file,
                            1);
  if (request->validation_split > 0)
    return weir_corpus_split(&data->train.corpus, request->validation_split, seed,
                             &data->validation.corpus);
  return WEIR_OK;
}

static weir_status read_and_pack(weir_training_data *data, const weir_data_request *request,
                                 const weir_training_settings *settings) {
  WEIR_TRY(read_corpora(data, request, settings->seed));
  const weir_batch_settings train = {
      .rows_per_micro_batch = settings->per_device_train_batch_size,
      .micro_batches_per_step = settings->gradient_accumulation_steps,
      .seed = settings->seed,
  };
  WEIR_TRY(weir_data_part_pack(&data->train, settings->max_length, &train));
  if (data->train.batches.n_supervised_epoch == 0)
    return weir_fail(WEIR_BAD_INPUT,
                     "nothing to learn: no token is supervised, since every document is "
                     "one token long or has an empty completion");
  if (!data->has_validation) return WEIR_OK;
  const weir_batch_settings evaluation = {1, 1, 0, true};
  return weir_data_part_pack(&data->validation, settings->max_length, &evaluation);
}

weir_status weir_training_data_read(weir_training_data *data, const weir_data_request *request,
                                    const weir_training_settings *settings) {
  *data = (weir_training_data){0};
  weir_status status = read_and_pack(data, request, settings);
  if (status != WEIR_OK) weir_training_data_deinit(data);
  return status;
}

uint64_t weir_training_data_bytes(const weir_training_data *data) {
  return weir_corpus_bytes(&data->train.corpus) + weir_rows_bytes(&data->train.rows) +
         weir_corpus_bytes(&data->validation.corpus) + weir_rows_bytes(&data->validation.rows);
}

void weir_training_data_log(const weir_training_data *data, int64_t max_length) {
  weir_data_part_log(&data->train, "training data", max_length);
  if (data->has_validation) weir_data_part_log(&data->validation, "validation data", max_length);
}

void weir_training_data_deinit(weir_training_data *data) {
  weir_data_part_deinit(&data->train);
  weir_data_part_deinit(&data->validation);
}
