/* SPDX-License-Identifier: Apache-2.0
 *
 * Data files, as lines of JSON, as one JSON array, as text, and as token ids: documents that come
 * out are UTF-8. */
#include "formats/documents.h"
#include "formats/token_ids.h"
#include "fuzz.h"

static void expect_utf8(const char *text, uint64_t n_bytes, uint64_t *n_total) {
  FUZZ_DEMAND(weir_utf8_valid_bytes(text, n_bytes) == n_bytes);
  *n_total += n_bytes;
}

static weir_status visit(void *context, const weir_document *document) {
  if (document->prompt) expect_utf8(document->prompt, document->n_prompt_bytes, context);
  expect_utf8(document->text, document->n_bytes, context);
  return WEIR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  static const char *const names[] = {"rows.jsonl", "rows.json", "rows.txt"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t n_total = 0;
    const char *path = fuzz_file(names[i], bytes, n_bytes);
    if (weir_documents_read(path, "\n\n", visit, &n_total) == WEIR_OK)
      FUZZ_DEMAND(n_total <= n_bytes);
  }
  weir_ids ids = {0};
  if (weir_token_ids_parse("ids", (const char *)bytes, n_bytes, 1000, &ids) == WEIR_OK)
    for (size_t i = 0; i < ids.count; i++)
      FUZZ_DEMAND(ids.data[i] >= 0 && ids.data[i] < 1000);
  weir_ids_deinit(&ids);
  return 0;
}
