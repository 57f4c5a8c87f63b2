/* SPDX-License-Identifier: Apache-2.0
 *
 * How a function says that the outside world failed it.
 *
 * A function that can fail for outside reasons returns a weir_status.  The first one to notice
 * calls weir_fail() with a message that names the file, tensor, key or line, what was found, what
 * was expected and what to do; everyone above passes the status up with WEIR_TRY, or adds where it
 * happened with weir_fail_at().  The message is one per thread and holds until the next failure.
 *
 * Programmers' mistakes are not statuses: they are WEIR_ASSERT, kept in every build. */
#ifndef WEIR_BASE_STATUS_H
#define WEIR_BASE_STATUS_H

/* The values are the exit codes of the program. */
typedef enum weir_status {
  WEIR_OK = 0,
  WEIR_FAILED = 1,       /* the world: a full disk, a refused permission, no memory */
  WEIR_BAD_INPUT = 2,    /* usage, configuration, the contents of a file */
  WEIR_DOES_NOT_FIT = 3, /* the plan needs more than the memory figure */
  WEIR_INTERRUPTED = 130,
  WEIR_TERMINATED = 143,
} weir_status;

/* Records the message (printf style, one line, no full stop needed) and returns `status`. */
weir_status weir_fail(weir_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__ /* which does not see into another file */
#define weir_fail(status, ...) ((void)weir_fail((status), __VA_ARGS__), (status))
#endif

/* Puts "<text>: " before the message already recorded and returns `status`; call on the way up. */
weir_status weir_fail_at(weir_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The last message of this thread; "" where nothing failed.  Borrowed until the next failure. */
const char *weir_status_message(void);

/* Whether a file that cannot be opened or read was named wrongly (WEIR_BAD_INPUT: no such file, a
 * directory) or the world failed (WEIR_FAILED: an I/O error, no descriptors, no permission). */
weir_status weir_status_of_errno(int error);

#define WEIR_TRY(call)                                                                             \
  do {                                                                                             \
    weir_status weir_try_status_ = (call);                                                         \
    if (weir_try_status_ != WEIR_OK) return weir_try_status_;                                      \
  } while (0)

/* WEIR_ASSERT(a, <, b): integers; prints both values and aborts. */
#define WEIR_ASSERT(left, op, right)                                                               \
  do {                                                                                             \
    long long weir_left_ = (long long)(left), weir_right_ = (long long)(right);                    \
    if (!(weir_left_ op weir_right_))                                                              \
      weir_assert_failed(#left " " #op " " #right, weir_left_, weir_right_, __FILE__, __LINE__);   \
  } while (0)

_Noreturn void weir_assert_failed(const char *what, long long left, long long right,
                                  const char *file, int line);

#endif
