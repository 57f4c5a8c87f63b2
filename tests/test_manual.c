/* SPDX-License-Identifier: Apache-2.0
 *
 * What was written from the table of options says all of the table: every option of every command
 * is in its man page, in the reference and in each shell's completion.  Bash completion is run;
 * man, zsh and fish check their files' syntax where they are installed. */
#include "cli/describe_option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_BYTES = 1 << 18 };

static char text[FILE_BYTES], plain[FILE_BYTES];

/* Without the signs by which roff and shells escape: backslashes, quotes, and roff's apostrophe. */
static void strip_escapes(const char *from, char *to) {
  while (*from) {
    if (strncmp(from, "\\(aq", 4) == 0)
      from += 4;
    else if (*from == '\\' || *from == '\'')
      from++;
    else
      *to++ = *from++;
  }
  *to = '\0';
}

static void read_all(FILE *file) {
  assert_non_null(file);
  size_t n = fread(text, 1, sizeof text - 1, file);
  text[n] = '\0';
  assert_in_range(n, 1, sizeof text - 2);
  strip_escapes(text, plain);
}

static void read_file(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", WEIR_MANUAL, name);
  FILE *file = fopen(path, "r");
  read_all(file);
  fclose(file);
}

/* Keeps only what lies between two marks of the text that was read. */
static void keep_between(const char *from, const char *to) {
  char *start = strstr(text, from);
  if (!start) fail_msg("'%s' is not there", from);
  char *end = strstr(start + strlen(from), to);
  if (end) *end = '\0';
  memmove(text, start, strlen(start) + 1);
  strip_escapes(text, plain);
}

static void expect(const char *part, const char *where) {
  char wanted[512];
  assert_in_range(strlen(part), 0, sizeof wanted - 1);
  strip_escapes(part, wanted);
  if (!strstr(plain, wanted)) fail_msg("%s lacks '%s'", where, wanted);
}

/* "key", then something that cannot be part of a longer key. */
static void expect_key(const char *name, const char *before, const char *after, const char *where) {
  char key[64], wanted[80];
  weir_option_key(name, key);
  for (const char *c = after; *c; c++) {
    snprintf(wanted, sizeof wanted, "%s%s%c", before, *before ? key + 2 : key, *c);
    if (strstr(plain, wanted)) return;
  }
  fail_msg("%s lacks %s", where, key);
}

static void expect_rows(const weir_command *command, bool says_help, const char *before,
                        const char *after, const char *where) {
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
  size_t n_rows = weir_command_rows(command, rows);
  for (size_t i = 0; i < n_rows; i++) {
    if (says_help) expect(rows[i]->help, where);
    if (rows[i]->positional) continue;
    expect_key(rows[i]->name, before, after, where);
    if (rows[i]->alias) expect_key(rows[i]->alias, before, after, where);
  }
}

static void test_rows_by_group(void **state) {
  (void)state;
  size_t n_all = 0, n_bits = 0;
  for (size_t i = 0; i < weir_n_commands; i++) {
    const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
    size_t n_rows = weir_command_rows(&weir_commands[i], rows);
    n_all += n_rows;
    for (size_t j = 0; j < n_rows; j++) {
      bool has_left = false;
      for (size_t k = j + 1; k < n_rows; k++) {
        bool is_same = strcmp(rows[j]->group, rows[k]->group) == 0;
        if (is_same && has_left) fail_msg("%s is split", rows[j]->group);
        if (!is_same) has_left = true;
      }
    }
    for (size_t j = 0; j < weir_n_option_rows; j++)
      n_bits += (weir_option_table[j].commands & weir_commands[i].bit) != 0;
  }
  assert_true(n_all > 0);
  assert_int_equal(n_all, n_bits);
}

static void test_pages(void **state) {
  (void)state;
  for (size_t i = 0; i < weir_n_commands; i++) {
    char name[64];
    snprintf(name, sizeof name, "man/man1/weir-%s.1", weir_commands[i].name);
    for (char *c = name; *c; c++)
      if (*c == ' ') *c = '-';
    read_file(name);
    expect(weir_commands[i].summary, name);
    expect_rows(&weir_commands[i], true, "", " ,f", name); /* f: of \fR */
    read_file("man/man1/weir.1");
    expect(weir_commands[i].name, "weir.1");
    expect(weir_commands[i].summary, "weir.1");
  }
}

static void test_reference(void **state) {
  (void)state;
  for (size_t i = 0; i < weir_n_commands; i++) {
    char heading[64];
    snprintf(heading, sizeof heading, "\n## weir %s\n", weir_commands[i].name);
    read_file("doc/weir/reference.md");
    keep_between(heading, "\n## ");
    expect(weir_commands[i].summary, "reference.md");
    expect_rows(&weir_commands[i], true, "", " ,`", heading);
  }
}

static void test_zsh_and_fish(void **state) {
  (void)state;
  for (size_t i = 0; i < weir_n_commands; i++) {
    char mark[96];
    read_file("zsh/site-functions/_weir");
    snprintf(mark, sizeof mark, "\n  '%s')\n", weir_commands[i].name);
    keep_between(mark, "\n    ;;\n");
    expect_rows(&weir_commands[i], false, "", "[=", mark);
    read_file("fish/vendor_completions.d/weir.fish");
    expect(weir_commands[i].summary, "weir.fish");
    snprintf(mark, sizeof mark, "__weir_command %s -l ", weir_commands[i].name);
    expect_rows(&weir_commands[i], false, mark, " ", "weir.fish");
  }
}

/* What bash offers for a line whose words are given, one a line, into `text`. */
static void complete(const char *words) {
  char line[8192];
  snprintf(
      line, sizeof line,
      "bash --norc -c '. \"%s/bash-completion/completions/weir\" && complete -p weir >/dev/null"
      " && COMP_WORDS=(%s) && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _weir &&"
      " printf \"%%s\\n\" \"<\" \"${COMPREPLY[@]}\" \">\"' 2>&1",
      WEIR_MANUAL, words);
  FILE *pipe = popen(line, "r");
  read_all(pipe);
  assert_int_equal(pclose(pipe), 0);
}

static size_t count_lines(void) {
  size_t n = 0;
  for (const char *c = text; *c; c++)
    n += *c == '\n';
  return n - 2; /* the brackets */
}

static void test_bash(void **state) {
  (void)state;
  if (system("bash --version >/dev/null 2>&1") != 0) {
    print_message("test_bash: no bash\n");
    skip();
  }
  complete("weir tra");
  assert_string_equal(text, "<\ntrain\n>\n");
  complete("weir tokenizer \"\"");
  assert_string_equal(text, "<\ntrain\n>\n");
  complete("weir train --stash a");
  assert_string_equal(text, "<\nall\nattn\n>\n");
  complete("weir train --stash = al");
  assert_string_equal(text, "<\nall\n>\n");
  complete("weir train --lr_scheduler_type li");
  assert_string_equal(text, "<\nlinear\n>\n");
  complete("weir plan --max-length \"\"");
  assert_string_equal(text, "<\n>\n");
  complete("weir help grad");
  assert_string_equal(text, "<\ngradients\n>\n");
  complete("weir inspect /etc/passw");
  assert_non_null(strstr(text, "/etc/passwd\n"));
  complete("weir eval --model /et");
  assert_string_equal(text, "<\n/etc\n>\n");
}

/* Exactly the options of each command, no more and no fewer. */
static void test_bash_options(void **state) {
  (void)state;
  if (system("bash --version >/dev/null 2>&1") != 0) {
    print_message("test_bash_options: no bash\n");
    skip();
  }
  for (size_t i = 0; i < weir_n_commands; i++) {
    const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
    size_t n_rows = weir_command_rows(&weir_commands[i], rows), n_keys = 1;
    char words[128];
    snprintf(words, sizeof words, "weir %s --", weir_commands[i].name);
    complete(words);
    for (size_t j = 0; j < n_rows; j++)
      n_keys += (size_t)!rows[j]->positional + (rows[j]->alias != NULL);
    assert_int_equal(count_lines(), n_keys);
    expect_rows(&weir_commands[i], false, "", "\n", words);
  }
}

static void expect_silence(const char *program, const char *line) {
  char command[8192];
  snprintf(command, sizeof command, "command -v %s >/dev/null", program);
  if (system(command) != 0) {
    print_message("test_syntax: no %s\n", program);
    return;
  }
  snprintf(command, sizeof command, "cd \"%s\" && ! { %s; } 2>&1 >/dev/null | grep .", WEIR_MANUAL,
           line);
  if (system(command) != 0) fail_msg("%s complains", program);
}

static void test_syntax(void **state) {
  (void)state;
  expect_silence("bash", "bash -n bash-completion/completions/weir");
  expect_silence("zsh", "zsh -n zsh/site-functions/_weir");
  expect_silence("fish", "fish --no-execute fish/vendor_completions.d/weir.fish");
  expect_silence("groff", "for page in man/man1/*; do groff -man -ww -Tutf8 $page; done");
}

/* An installation below DESTDIR, with its program and pages in PREFIX. */
static void test_install(void **state) {
  (void)state;
  if (system("d=$(mktemp -d) && DESTDIR=$d cmake --install \"" WEIR_MANUAL
             "/..\" --prefix /opt/weir"
             " >/dev/null && cd $d/opt/weir && bin/weir version >/dev/null &&"
             " cmp share/man/man1/weir-train.1 \"" WEIR_MANUAL "/man/man1/weir-train.1\" &&"
             " [ -s share/doc/weir/NOTICE ] && [ -s share/doc/weir/reference.md ];"
             " code=$?; rm -r \"$d\"; exit $code") != 0)
    fail_msg("the installation lacks something");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_by_group), cmocka_unit_test(test_pages),
      cmocka_unit_test(test_reference),     cmocka_unit_test(test_zsh_and_fish),
      cmocka_unit_test(test_bash),          cmocka_unit_test(test_bash_options),
      cmocka_unit_test(test_syntax),        cmocka_unit_test(test_install),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
