/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static weir_status map_descriptor(int descriptor, const char *path, weir_mapping *mapping) {
  struct stat about;
  if (fstat(descriptor, &about) != 0)
    return weir_fail(WEIR_FAILED, "%s: cannot be examined: %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode))
    return weir_fail(WEIR_BAD_INPUT, "%s: is %s, expected a file", path,
                     S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
  if (about.st_size == 0) return WEIR_OK;
  void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (bytes == MAP_FAILED)
    return weir_fail(WEIR_FAILED, "%s: cannot be mapped: %s", path, strerror(errno));
  *mapping = (weir_mapping){.bytes = bytes, .size_bytes = (uint64_t)about.st_size};
  return WEIR_OK;
}

weir_status weir_mapping_open(const char *path, weir_mapping *mapping) {
  *mapping = (weir_mapping){0};
  /* Without O_NONBLOCK a FIFO in the place of a file would hang us here. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return weir_fail(weir_status_of_errno(errno), "%s: cannot be opened: %s", path,
                     strerror(errno));
  weir_status status = map_descriptor(descriptor, path, mapping);
  close(descriptor);
  return status;
}

void weir_mapping_close(weir_mapping *mapping) {
  if (mapping->bytes) munmap((void *)mapping->bytes, (size_t)mapping->size_bytes);
  *mapping = (weir_mapping){0};
}

void weir_mapping_drop(const weir_mapping *mapping, uint64_t offset_bytes, uint64_t size_bytes) {
  WEIR_ASSERT(offset_bytes, <=, mapping->size_bytes);
  WEIR_ASSERT(size_bytes, <=, mapping->size_bytes - offset_bytes);
  if (size_bytes == 0) return;
  /* A fault also maps the pages around it, up to an aligned window of this size, and so those that
   * were dropped a moment ago. */
  const uintptr_t window_bytes = 1 << 16;
  uintptr_t first = (uintptr_t)mapping->bytes, last = first + mapping->size_bytes;
  uintptr_t begin = (first + offset_bytes) / window_bytes * window_bytes;
  uintptr_t end = first + offset_bytes + size_bytes;
  end = (end + window_bytes - 1) / window_bytes * window_bytes;
  if (begin < first) begin = first;
  if (end > last) end = last;
  madvise((void *)begin, end - begin, MADV_DONTNEED);
}

char *weir_path_join(const char *directory, const char *name) {
  size_t n_directory = strlen(directory), room_bytes = n_directory + strlen(name) + 2;
  const char *separator = n_directory == 0 || directory[n_directory - 1] == '/' ? "" : "/";
  char *path = malloc(room_bytes);
  if (path) snprintf(path, room_bytes, "%s%s%s", directory, separator, name);
  return path;
}

bool weir_path_is_directory(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A rename is durable once the directory that holds the name is. */
static int open_directory_of(const char *path) {
  const char *slash = strrchr(path, '/');
  char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  int descriptor = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  free(directory);
  return descriptor;
}

weir_status weir_output_status(int error) {
  static const int of_the_path[] = {EACCES, EISDIR,  ELOOP,      ENAMETOOLONG, ENODEV,
                                    ENOENT, ENOTDIR, EOPNOTSUPP, EPERM,        EROFS};
  for (size_t i = 0; i < sizeof of_the_path / sizeof *of_the_path; i++)
    if (error == of_the_path[i]) return WEIR_BAD_INPUT;
  return WEIR_FAILED;
}

/* A rename would put a file in the place of a device such as /dev/null, for everyone. */
static weir_status check_replaceable(const char *path) {
  struct stat about;
  if (stat(path, &about) != 0 || S_ISREG(about.st_mode)) return WEIR_OK;
  return weir_fail(WEIR_BAD_INPUT, "%s: is %s and is not replaced: name a file, or a new one", path,
                   S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
}

weir_status weir_replacement_open(const char *path, weir_replacement *file) {
  *file = (weir_replacement){0};
  WEIR_TRY(check_replaceable(path));
  size_t room_bytes = strlen(path) + sizeof ".tmp-" + 20; /* 20 digits hold any process id */
  *file = (weir_replacement){
      .directory = -1, .path = strdup(path), .temporary_path = malloc(room_bytes)};
  if (!file->path || !file->temporary_path) {
    weir_replacement_abandon(file);
    return weir_fail(WEIR_FAILED, "%s: no memory to write it", path);
  }
  snprintf(file->temporary_path, room_bytes, "%s.tmp-%ld", path, (long)getpid());
  file->directory = open_directory_of(path);
  if (file->directory >= 0) file->stream = fopen(file->temporary_path, "wbe");
  if (file->stream) return WEIR_OK;
  const int error = errno;
  weir_status status =
      weir_fail(weir_output_status(error), "%s: cannot be written: %s", path, strerror(error));
  weir_replacement_abandon(file);
  return status;
}

weir_status weir_replacement_append(weir_replacement *file, const void *bytes,
                                    uint64_t size_bytes) {
  if (fwrite(bytes, 1, (size_t)size_bytes, file->stream) == size_bytes) return WEIR_OK;
  return weir_fail(WEIR_FAILED, "%s: cannot be written: %s", file->path, strerror(errno));
}

weir_status weir_replacement_commit(weir_replacement *file) {
  bool written = fflush(file->stream) == 0 && fsync(fileno(file->stream)) == 0;
  int reason = errno;
  /* close can report a late write error (NFS) */
  if (fclose(file->stream) != 0 && written) {
    written = false;
    reason = errno;
  }
  file->stream = NULL;
  /* Some file systems cannot sync a directory; they say EINVAL and have nothing better. */
  if (written && (rename(file->temporary_path, file->path) != 0 ||
                  (fsync(file->directory) != 0 && errno != EINVAL))) {
    written = false;
    reason = errno;
  }
  weir_status status = WEIR_OK;
  if (!written)
    status = weir_fail(WEIR_FAILED, "%s: cannot be written: %s", file->path, strerror(reason));
  weir_replacement_abandon(file); /* after a rename there is nothing under the temporary name */
  return status;
}

void weir_replacement_abandon(weir_replacement *file) {
  if (!file->temporary_path && !file->path) return; /* zeroed or closed */
  if (file->stream) fclose(file->stream);
  if (file->directory >= 0) close(file->directory);
  if (file->temporary_path) unlink(file->temporary_path);
  free(file->temporary_path);
  free(file->path);
  *file = (weir_replacement){0};
}

weir_status weir_replacement_check(const char *path) {
  weir_replacement file;
  WEIR_TRY(weir_replacement_open(path, &file));
  weir_replacement_abandon(&file);
  return WEIR_OK;
}

weir_status weir_file_replace(const char *path, const void *bytes, uint64_t size_bytes) {
  weir_replacement file;
  WEIR_TRY(weir_replacement_open(path, &file));
  weir_status status = weir_replacement_append(&file, bytes, size_bytes);
  if (status == WEIR_OK) return weir_replacement_commit(&file);
  weir_replacement_abandon(&file);
  return status;
}
