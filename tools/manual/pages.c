/* SPDX-License-Identifier: Apache-2.0
 *
 * Man pages, in the man(7) macros: one for the program, one for each command. */
#include "cli/describe_option.h"
#include "manual.h"

#include <ctype.h>
#include <string.h>

/* Text as it is: roff's own signs escaped. */
static void put(FILE *file, const char *text) {
  for (const char *c = text; *c; c++) {
    bool starts_line = c == text || c[-1] == '\n';
    if (*c == '\\')
      fputs("\\e", file);
    else if (*c == '-')
      fputs("\\-", file);
    else if (*c == '\'')
      fputs("\\(aq", file);
    else
      fprintf(file, "%s%c", starts_line && *c == '.' ? "\\&" : "", *c);
  }
}

static void put_bold(FILE *file, const char *text) {
  fputs("\\fB", file);
  put(file, text);
  fputs("\\fR", file);
}

static void put_title(FILE *file, const char *name) {
  fputs(".\\\" Written from the table of options when weir was built.\n.TH ", file);
  for (const char *c = name; *c; c++)
    fputc(*c == ' ' ? '-' : toupper((unsigned char)*c), file);
  fputs(" 1 \"\" \"weir " WEIR_VERSION "\" \"Weir\"\n.nh\n.ad l\n", file);
}

static void put_section(FILE *file, const char *title) {
  fprintf(file, ".SH %s\n", title);
}

static void put_lines(FILE *file, const char *const *lines, size_t n_lines) {
  fputs(".PP\n.nf\n.RS 4\n", file);
  for (size_t i = 0; i < n_lines; i++) {
    put(file, lines[i]);
    fputc('\n', file);
  }
  fputs(".RE\n.fi\n", file);
}

static void put_item(FILE *file, const char *what, bool is_required, const char *meaning) {
  fputs(".TP\n", file);
  put_bold(file, what);
  fputs(is_required ? "   (required)\n" : "\n", file);
  put(file, meaning);
  fputc('\n', file);
}

static void put_option(FILE *file, const weir_option *row, uint32_t command) {
  char usage[WEIR_OPTION_TEXT], facts[WEIR_OPTION_TEXT];
  weir_option_usage(row, usage);
  weir_option_facts(row, facts);
  put_item(file, usage, row->required_by & command, row->help);
  put(file, facts);
  fputs(*facts ? "\n" : "", file);
}

void write_command_page(FILE *file, const weir_command *command) {
  char name[64];
  const weir_option *rows[WEIR_MAX_COMMAND_ROWS];
  size_t n_rows = weir_command_rows(command, rows);
  snprintf(name, sizeof name, "weir-%s", command->name);
  for (char *c = name; *c; c++)
    if (*c == ' ') *c = '-';
  put_title(file, name);
  put_section(file, "NAME");
  put(file, name);
  fputs(" \\- ", file);
  put(file, command->summary);
  fputc('\n', file);
  put_section(file, "SYNOPSIS");
  fputs("\\fBweir ", file);
  put(file, command->name);
  fputs("\\fR", file);
  for (size_t i = 0; i < n_rows; i++) {
    char usage[WEIR_OPTION_TEXT];
    if (!(rows[i]->required_by & command->bit)) continue;
    weir_option row = *rows[i];
    if (row.alias) row.name = row.alias, row.alias = NULL;
    weir_option_usage(&row, usage);
    fputc(' ', file);
    put(file, usage);
  }
  fputs(n_rows > 0 ? " [\\fIoptions\\fR]\n" : "\n", file);
  for (size_t i = 0; i < n_rows; i++) {
    if (i == 0) put_section(file, "OPTIONS");
    if (i == 0 || strcmp(rows[i]->group, rows[i - 1]->group) != 0)
      fprintf(file, ".SS %s\n", rows[i]->group);
    put_option(file, rows[i], command->bit);
  }
  put_section(file, "SEE ALSO");
  fputs("\\fBweir\\fR(1): how options are given, configuration files, exit status, environment.\n",
        file);
}

static void put_commands(FILE *file) {
  put_section(file, "COMMANDS");
  for (size_t i = 0; i < weir_n_commands; i++)
    put_item(file, weir_commands[i].name, false, weir_commands[i].summary);
}

static void put_option_rules(FILE *file) {
  put_section(file, "OPTIONS");
  put(file,
      "Options are --key value or --key=value; - and _ are the same in a key. A boolean alone "
      "means true. A key given twice is an error, and so is one that the command does not "
      "know.\n");
  fputs(".PP\n", file);
  put(file, "Flags win over --config FILE.yaml, which wins over the defaults. Its keys are the "
            "names of the options, with _ or -.\n");
  fputs(".PP\n", file);
  put(file, "A size is a number of bytes, or ends in kB, MB, GB (decimal) or KiB, MiB, GiB "
            "(binary). Numbers are written the same in every locale.\n");
  fputs(".PP\n", file);
  put(file, "Standard output carries the result only; progress, warnings and errors go to standard "
            "error.\n");
}

static void put_exit_status(FILE *file) {
  put_section(file, "EXIT STATUS");
  put_item(file, "0", false, "done");
  put_item(file, "1", false, "failed");
  put_item(file, "2", false, "usage, configuration or bad input");
  put_item(file, "3", false, "does not fit the memory figure");
  put_item(file, "130, 143", false,
           "stopped by a signal after saving; a second signal stops at once");
}

void write_overview_page(FILE *file) {
  static const char *const examples[] = {
      "weir doctor",
      "weir plan --model DIR --max-length 4096",
      "weir train --model DIR --train-file FILE --output DIR --memory 8GiB",
  };
  put_title(file, "weir");
  put_section(file, "NAME");
  put(file, "weir");
  fputs(" \\- ", file);
  put(file, "train transformer language models within the memory you have\n");
  put_section(file, "SYNOPSIS");
  fputs("\\fBweir\\fR \\fICOMMAND\\fR [\\fB\\-\\-key\\fR \\fIvalue\\fR] ...\n", file);
  put_section(file, "DESCRIPTION");
  put(file, "Weir says, before it starts, exactly how many bytes every step will hold, and then it "
            "does just that. Long sequences stream through the model chunk by chunk; gradients are "
            "exact, and the plan does not change them.\n");
  fputs(".PP\n", file);
  put(file, "Each command has a page of its own: weir-train(1) for weir train.\n");
  put_commands(file);
  put_option_rules(file);
  put_exit_status(file);
  put_section(file, "ENVIRONMENT");
  put_item(file, "NO_COLOR", false, "set: no colours");
  put_item(file, "OMP_WAIT_POLICY, GOMP_SPINCOUNT", false,
           "how threads wait for work. Unless one is set, idle threads soon give their core back.");
  put_section(file, "EXAMPLES");
  put_lines(file, examples, sizeof examples / sizeof *examples);
  put_section(file, "SEE ALSO");
  for (size_t i = 0; i < weir_n_commands; i++) {
    fputs("\\fBweir\\-", file);
    for (const char *c = weir_commands[i].name; *c; c++)
      fputs(*c == ' ' ? "\\-" : (char[]){*c, '\0'}, file);
    fprintf(file, "\\fR(1)%s\n", i + 1 < weir_n_commands ? "," : "");
  }
}
