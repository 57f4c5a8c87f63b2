/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to environment variables, so that the list of those we read is short and known:
 * NO_COLOR, TERM, PATH, XDG_CACHE_HOME, HOME. */
#ifndef WEIR_BASE_ENVIRONMENT_H
#define WEIR_BASE_ENVIRONMENT_H

/* NULL where unset.  Borrowed from the environment, which nobody changes. */
const char *weir_environment(const char *name);

#endif
