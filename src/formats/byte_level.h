/* SPDX-License-Identifier: Apache-2.0
 *
 * GPT-2's spelling of bytes as printable characters, in which byte-level vocabularies are written
 * (Radford et al. 2019): bytes that print as themselves in Latin-1 stay, the other 68 become
 * U+0100, U+0101, ... in order. */
#ifndef WEIR_FORMATS_BYTE_LEVEL_H
#define WEIR_FORMATS_BYTE_LEVEL_H

#include "base/growable.h"

/* Appends the UTF-8 spelling of the bytes. */
weir_status weir_byte_level_spell(const void *bytes, size_t n_bytes, weir_bytes *spelling);

/* The byte that a character stands for, or -1. */
int weir_byte_level_byte(int32_t character);

#endif
