/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and sizes as people write and read them, whatever the locale.
 *
 * Reading is strict: the whole text must be the number, so that a slip is an error and never a
 * different number.  No hexadecimal, no infinity, no NaN, no surrounding space. */
#ifndef WEIR_BASE_NUMBER_TEXT_H
#define WEIR_BASE_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns false, and leaves the result alone, where the text is not such a number. */
bool weir_text_to_integer(const char *text, int64_t *integer);
bool weir_text_to_real(const char *text, double *real);

/* A bare number is bytes; kB, MB, GB are decimal and KiB, MiB, GiB binary; a fraction needs a unit
 * and is rounded down to whole bytes. */
bool weir_text_to_bytes(const char *text, uint64_t *bytes);

/* The shortest decimal text that reads back as exactly this value; finite values only. */
enum { WEIR_REAL_TEXT = 32 };
const char *weir_real_to_text(double real, char text[WEIR_REAL_TEXT]);

/* "512 bytes", "1.25 GiB": three digits or so, for people.  Returns `text`. */
enum { WEIR_BYTES_TEXT = 32 };
const char *weir_bytes_to_text(uint64_t bytes, char text[WEIR_BYTES_TEXT]);

#endif
