/* SPDX-License-Identifier: Apache-2.0
 *
 * A library to preload: the k-th of some calls into libc fails, or the process ends just before
 * it.  For tests of `weir train` only; nothing that is installed knows of it.
 *
 *   WEIR_FAULT=<kind>:<k>:<how>    WEIR_FAULT_LOG=<file>
 *
 * kind  open read write fsync rename unlink mkdir mmap malloc; or any: every call that changes
 *       files (opening to write, write, fsync, rename, unlink, mkdir)
 * k     counted from 0
 * how   EIO ENOSPC EMFILE ENOMEM EINTR: that one call fails so; short: a read or write of half
 *       the bytes; exit: the process ends there, as by kill -9
 *
 * Calls are counted where the program makes them: fwrite and not the write inside it.  /proc, /sys,
 * /dev and the standard descriptors are left alone.  The log gets the number
 * of calls of that kind when the process ends, so that a test knows when k has run past the end. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, FSYNC, RENAME, UNLINK, MKDIR, MMAP, MALLOC, ANY, N_KINDS };
static const char *const kind_names[N_KINDS] = {"open",   "read",  "write", "fsync",  "rename",
                                                "unlink", "mkdir", "mmap",  "malloc", "any"};

enum how { FAIL, SHORT, EXIT };

static enum kind wanted = N_KINDS;
static enum how how;
static int reason; /* an errno */
static long first = -1;
static atomic_long n_calls;
static const char *log_path;

static const struct {
  const char *name;
  int reason;
} reasons[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}};

__attribute__((constructor)) static void set_up(void) {
  const char *text = getenv("WEIR_FAULT");
  char kind[16], what[16];
  log_path = getenv("WEIR_FAULT_LOG");
  if (!text || sscanf(text, "%15[^:]:%ld:%15s", kind, &first, what) != 3) return;
  for (int i = 0; i < N_KINDS; i++)
    if (strcmp(kind, kind_names[i]) == 0) wanted = (enum kind)i;
  how = strcmp(what, "short") == 0 ? SHORT : strcmp(what, "exit") == 0 ? EXIT : FAIL;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (strcmp(what, reasons[i].name) == 0) reason = reasons[i].reason;
}

__attribute__((destructor)) static void tear_down(void) {
  if (!log_path || wanted == N_KINDS) return;
  const long n = n_calls;
  wanted = N_KINDS;
  FILE *file = fopen(log_path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", n);
  fclose(file);
}

/* Whether this call is the one.  Ends the process where that is asked for. */
static bool is_struck(enum kind kind, bool changes_files) {
  if (wanted != kind && !(wanted == ANY && changes_files)) return false;
  if (atomic_fetch_add(&n_calls, 1) != first) return false;
  if (how == EXIT) syscall(SYS_exit_group, 99);
  if (how == FAIL) errno = reason;
  return true;
}

static bool is_system(const char *path) {
  return strncmp(path, "/proc", 5) == 0 || strncmp(path, "/sys", 4) == 0 ||
         strncmp(path, "/dev", 4) == 0;
}

#define REAL(name)                                                                                 \
  static __typeof__(name) *real;                                                                   \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

/* ---- opening ---- */

int open(const char *path, int flags, ...) {
  REAL(open);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (!is_system(path) && is_struck(OPEN, flags & O_CREAT) && how == FAIL) return -1;
  return real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
  REAL(fopen);
  if (!is_system(path) && is_struck(OPEN, *mode != 'r') && how == FAIL) return NULL;
  return real(path, mode);
}

DIR *opendir(const char *path) {
  REAL(opendir);
  if (!is_system(path) && is_struck(OPEN, false) && how == FAIL) return NULL;
  return real(path);
}

/* ---- reading and writing ---- */

ssize_t read(int file, void *bytes, size_t n_bytes) {
  REAL(read);
  if (file > 2 && is_struck(READ, false)) {
    if (how == FAIL) return -1;
    n_bytes = (n_bytes + 1) / 2;
  }
  return real(file, bytes, n_bytes);
}

size_t fread(void *restrict bytes, size_t size, size_t n, FILE *restrict stream) {
  REAL(fread);
  if (fileno(stream) > 2 && is_struck(READ, false) && how == FAIL) return 0;
  return real(bytes, size, n, stream);
}

ssize_t write(int file, const void *bytes, size_t n_bytes) {
  REAL(write);
  if (file > 2 && is_struck(WRITE, true)) {
    if (how == FAIL) return -1;
    n_bytes = (n_bytes + 1) / 2;
  }
  return real(file, bytes, n_bytes);
}

/* The library's streams reach the system without the names above, so they are struck here: what
 * the caller sees is the same. */
size_t fwrite(const void *restrict bytes, size_t size, size_t n, FILE *restrict stream) {
  REAL(fwrite);
  if (fileno(stream) > 2 && is_struck(WRITE, true)) {
    if (how == FAIL) return 0;
    fflush(stream); /* a short write inside a stream is made good by the stream itself */
  }
  return real(bytes, size, n, stream);
}

int fflush(FILE *stream) {
  REAL(fflush);
  if (stream && fileno(stream) > 2 && is_struck(WRITE, true) && how == FAIL) return EOF;
  return real(stream);
}

int fclose(FILE *stream) {
  REAL(fclose);
  const bool is_ours = fileno(stream) > 2;
  const bool fails = is_ours && is_struck(WRITE, true) && how == FAIL;
  const int saved = errno;
  const int result = real(stream);
  if (!fails) return result;
  errno = saved;
  return EOF;
}

int fsync(int file) {
  REAL(fsync);
  if (is_struck(FSYNC, true) && how == FAIL) return -1;
  return real(file);
}

/* ---- names ---- */

int rename(const char *from, const char *to) {
  REAL(rename);
  if (is_struck(RENAME, true) && how == FAIL) return -1;
  return real(from, to);
}

int unlink(const char *path) {
  REAL(unlink);
  if (is_struck(UNLINK, true) && how == FAIL) return -1;
  return real(path);
}

int remove(const char *path) {
  REAL(remove);
  if (is_struck(UNLINK, true) && how == FAIL) return -1;
  return real(path);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  if (is_struck(MKDIR, true) && how == FAIL) return -1;
  return real(path, mode);
}

/* ---- memory ---- */

/* Where the code of libraries lies that end the process by themselves when memory runs out (an
 * exception of C++ that nobody catches): theirs to fail, not ours. */
static struct range { uintptr_t begin, end; } libraries[8];
static int n_libraries;

static int find_library(struct dl_phdr_info *about, size_t size, void *context) {
  (void)size, (void)context;
  static const char *const names[] = {"libdnnl", "libgomp", "libomp", "libstdc++", "ld-linux"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!strstr(about->dlpi_name, names[i]) || n_libraries == 8) continue;
    struct range *range = &libraries[n_libraries++];
    *range = (struct range){UINTPTR_MAX, 0};
    for (int k = 0; k < about->dlpi_phnum; k++) {
      const uintptr_t begin = about->dlpi_addr + about->dlpi_phdr[k].p_vaddr;
      const uintptr_t end = begin + about->dlpi_phdr[k].p_memsz;
      if (about->dlpi_phdr[k].p_type != PT_LOAD) continue;
      if (begin < range->begin) range->begin = begin;
      if (end > range->end) range->end = end;
    }
  }
  return 0;
}

__attribute__((constructor)) static void find_libraries(void) {
  dl_iterate_phdr(find_library, NULL);
}

static bool is_memory_struck(enum kind kind, const void *caller) {
  if (wanted != kind) return false;
  for (int i = 0; i < n_libraries; i++)
    if ((uintptr_t)caller >= libraries[i].begin && (uintptr_t)caller < libraries[i].end)
      return false;
  return is_struck(kind, false);
}

void *mmap(void *address, size_t n_bytes, int protection, int flags, int file, off_t offset) {
  REAL(mmap);
  if (is_memory_struck(MMAP, __builtin_return_address(0)) && how == FAIL) return MAP_FAILED;
  return real(address, n_bytes, protection, flags, file, offset);
}

extern void *__libc_malloc(size_t n_bytes);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t n_bytes);

void *malloc(size_t n_bytes) {
  const bool fails = is_memory_struck(MALLOC, __builtin_return_address(0));
  return fails ? NULL : __libc_malloc(n_bytes);
}

void *calloc(size_t n, size_t size) {
  const bool fails = is_memory_struck(MALLOC, __builtin_return_address(0));
  return fails ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n_bytes) {
  const bool fails = is_memory_struck(MALLOC, __builtin_return_address(0));
  return fails ? NULL : __libc_realloc(old, n_bytes);
}
