/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/byte_level.h"

#include <stdbool.h>

static bool stands_for_itself(int byte) {
  return (byte > ' ' && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
}

/* The n-th byte that does not print, in order: 0..32, 127..160, 173. */
static int moved_byte(int n) {
  return n <= ' ' ? n : n <= ' ' + 34 ? n - (' ' + 1) + 0x7F : 0xAD;
}

enum { N_MOVED = 68 };

static int character_of(int byte) {
  if (stands_for_itself(byte)) return byte;
  return 0x100 + (byte <= ' ' ? byte : byte < 0xAD ? byte - 0x7F + ' ' + 1 : N_MOVED - 1);
}

int weir_byte_level_byte(int32_t character) {
  if (character >= 0 && character < 0x100) return stands_for_itself(character) ? character : -1;
  if (character < 0x100 || character >= 0x100 + N_MOVED) return -1;
  return moved_byte(character - 0x100);
}

weir_status weir_byte_level_spell(const void *bytes, size_t n_bytes, weir_bytes *spelling) {
  for (size_t i = 0; i < n_bytes; i++) {
    int c = character_of(((const unsigned char *)bytes)[i]);
    char utf8[2] = {(char)(c < 0x80 ? c : 0xC0 | c >> 6), (char)(0x80 | (c & 0x3F))};
    WEIR_TRY(weir_bytes_append(spelling, utf8, c < 0x80 ? 1 : 2));
  }
  return WEIR_OK;
}
