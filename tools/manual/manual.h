/* SPDX-License-Identifier: Apache-2.0
 *
 * What is written from the tables of commands and options when weir is built: man pages,
 * completions and the reference.  Each function writes one file. */
#ifndef WEIR_MANUAL_H
#define WEIR_MANUAL_H

#include "cli/commands.h"

#include <stdio.h>

void write_overview_page(FILE *file);                             /* weir(1) */
void write_command_page(FILE *file, const weir_command *command); /* weir-train(1) */
void write_reference(FILE *file);                                 /* Markdown */
void write_bash(FILE *file);
void write_zsh(FILE *file);
void write_fish(FILE *file);

#endif
