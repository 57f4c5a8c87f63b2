/* SPDX-License-Identifier: Apache-2.0 */
#include "support/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>

int program_run(char *output, size_t output_bytes, const char *arguments, ...) {
  char command[8192];
  int used = snprintf(command, sizeof command, "%s ", WEIR_PROGRAM);
  va_list values;
  va_start(values, arguments);
  used += vsnprintf(command + used, sizeof command - (size_t)used, arguments, values);
  va_end(values);
  if (used < 0 || (size_t)used + sizeof " 2>&1" > sizeof command) return -1;
  snprintf(command + used, sizeof command - (size_t)used, " 2>&1");
  *output = '\0';
  FILE *pipe = popen(command, "r");
  if (!pipe) return -1;
  size_t n = fread(output, 1, output_bytes - 1, pipe);
  output[n] = '\0';
  while (fgetc(pipe) != EOF) /* or the program would end with the pipe */
    continue;
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
