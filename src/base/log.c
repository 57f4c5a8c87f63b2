/* SPDX-License-Identifier: Apache-2.0
 *
 * Each line leaves in one write, so that lines of two processes do not mix.  A reader that has gone
 * away is no error: the work goes on. */
#include "base/log.h"

#include "base/environment.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096 };

static bool quiet;
static bool is_progress_shown;
static size_t n_warnings;
static FILE *copy;

void weir_log_set_quiet(bool wanted) {
  quiet = wanted;
}

bool weir_log_is_quiet(void) {
  return quiet;
}

void weir_log_set_copy(FILE *stream) {
  copy = stream;
}

bool weir_log_is_terminal(void) {
  return isatty(STDERR_FILENO) == 1;
}

bool weir_log_has_color(void) {
  const char *no_color = weir_environment("NO_COLOR"), *terminal = weir_environment("TERM");
  if (no_color && *no_color) return false;
  return weir_log_is_terminal() && terminal && strcmp(terminal, "dumb") != 0;
}

/* The start of a line in plain text and in colour. */
typedef struct line_label {
  const char *plain, *colored;
} line_label;

static const line_label no_label = {"", ""};

/* Starts on a line of its own; a line without a newline is one of progress. */
static void write_terminal(const char *label, const char *text, const char *newline) {
  char line[LINE_BYTES + 64];
  const char *start = is_progress_shown ? "\r\x1b[K" : "";
  int n = snprintf(line, sizeof line, "%s%s%s%s", start, label, text, newline);
  if (n < 0) return;
  ssize_t written = write(STDERR_FILENO, line, strlen(line));
  (void)written;
  is_progress_shown = *newline == '\0';
}

static void write_line(const line_label *label, bool is_for_terminal, const char *format,
                       va_list arguments) {
  char text[LINE_BYTES];
  if (vsnprintf(text, sizeof text, format, arguments) < 0) return;
  if (is_for_terminal)
    write_terminal(weir_log_has_color() ? label->colored : label->plain, text, "\n");
  if (!copy) return;
  fprintf(copy, "%s%s\n", label->plain, text);
  fflush(copy);
}

void weir_log_info(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line(&no_label, !quiet, format, arguments);
  va_end(arguments);
}

void weir_log_warning(const char *format, ...) {
  static const line_label label = {"warning: ", "\x1b[33mwarning:\x1b[0m "};
  n_warnings++;
  va_list arguments;
  va_start(arguments, format);
  write_line(&label, true, format, arguments);
  va_end(arguments);
}

void weir_log_error(const char *format, ...) {
  static const line_label label = {"weir: ", "\x1b[31mweir:\x1b[0m "};
  va_list arguments;
  va_start(arguments, format);
  write_line(&label, true, format, arguments);
  va_end(arguments);
}

void weir_log_progress(const char *format, ...) {
  if (quiet || !weir_log_is_terminal()) return;
  char text[LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  is_progress_shown = true; /* overwrites the line it stands on */
  if (n >= 0) write_terminal("", text, "");
}

size_t weir_log_n_warnings(void) {
  return n_warnings;
}

/* Length of the well-formed UTF-8 character at `text`, 0 where there is none (Unicode, table 3-7).
 */
static size_t measure_character(const uint8_t *text, size_t n) {
  uint8_t first = text[0];
  if (first < 0x80) return 1;
  size_t length = first >= 0xc2 && first < 0xe0   ? 2
                  : (first & 0xf0) == 0xe0        ? 3
                  : first >= 0xf0 && first < 0xf5 ? 4
                                                  : 0;
  if (length == 0 || length > n) return 0;
  uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (text[1] < low || text[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return length;
}

static bool is_control(const uint8_t *character, size_t length) {
  if (length == 1) return character[0] < 0x20 || character[0] == 0x7f;
  return length == 2 && character[0] == 0xc2 && character[1] < 0xa0;
}

const char *weir_log_escape(char *escaped, size_t escaped_bytes, const char *text,
                            size_t text_bytes) {
  static const char ellipsis[] = "...";
  const uint8_t *bytes = (const uint8_t *)text;
  size_t n = 0, n_before_cut = 0, length;
  if (escaped_bytes < sizeof ellipsis) return "";
  for (size_t i = 0; i < text_bytes; i += length) {
    if (n + sizeof ellipsis <= escaped_bytes) n_before_cut = n;
    char hexadecimal[9];
    const char *piece = text + i;
    length = measure_character(bytes + i, text_bytes - i);
    size_t piece_bytes = length;
    if (length == 0 || is_control(bytes + i, length)) {
      length = length ? length : 1;
      piece_bytes = 0;
      for (size_t j = 0; j < length; j++, piece_bytes += 4)
        snprintf(hexadecimal + piece_bytes, 5, "\\x%02x", bytes[i + j]);
      piece = hexadecimal;
    }
    if (n + piece_bytes + 1 > escaped_bytes) {
      memcpy(escaped + n_before_cut, ellipsis, sizeof ellipsis);
      return escaped;
    }
    memcpy(escaped + n, piece, piece_bytes);
    n += piece_bytes;
  }
  escaped[n] = '\0';
  return escaped;
}
