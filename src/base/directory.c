/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock is flock(2), which the kernel drops with the last descriptor. */
#include "base/directory.h"

#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static weir_status make_one(const char *path) {
  struct stat status;
  if (mkdir(path, 0777) == 0) return WEIR_OK;
  int error = errno;
  if (error == EEXIST && stat(path, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return WEIR_OK;
    return weir_fail(WEIR_BAD_INPUT, "%s: is a file, expected a directory", path);
  }
  return weir_fail(weir_output_status(error), "%s: cannot make the directory: %s", path,
                   strerror(error));
}

weir_status weir_directory_make(const char *path) {
  char parent[PATH_MAX];
  size_t length = strlen(path);
  if (length == 0) return weir_fail(WEIR_BAD_INPUT, "a directory needs a name, found ''");
  if (length >= sizeof parent)
    return weir_fail(WEIR_BAD_INPUT, "%.80s...: the path is too long", path);
  memcpy(parent, path, length + 1);
  for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    WEIR_TRY(make_one(parent));
    *slash = '/';
  }
  return make_one(path);
}

/* The path itself, or the nearest of its parents that is there. */
static weir_status find_existing(const char *path, char existing[PATH_MAX]) {
  size_t length = strlen(path);
  if (length == 0) return weir_fail(WEIR_BAD_INPUT, "a directory needs a name, found ''");
  if (length >= PATH_MAX) return weir_fail(WEIR_BAD_INPUT, "%.80s...: the path is too long", path);
  memcpy(existing, path, length + 1);
  while (access(existing, F_OK) != 0) {
    if (errno != ENOENT)
      return weir_fail(weir_output_status(errno), "%s: cannot be written: %s", path,
                       strerror(errno));
    while (length > 0 && existing[length - 1] == '/')
      length--;
    while (length > 0 && existing[length - 1] != '/')
      length--;
    if (length == 0) existing[length++] = '.';
    existing[length] = '\0';
  }
  return WEIR_OK;
}

weir_status weir_directory_check_writable(const char *path) {
  char existing[PATH_MAX], probe[PATH_MAX + 32];
  struct stat about;
  WEIR_TRY(find_existing(path, existing));
  if (stat(existing, &about) == 0 && !S_ISDIR(about.st_mode))
    return weir_fail(WEIR_BAD_INPUT, "%s: is a file, expected a directory", existing);
  snprintf(probe, sizeof probe, "%s/.weir-probe-%ld", existing, (long)getpid());
  if (mkdir(probe, 0700) == 0 && rmdir(probe) == 0) return WEIR_OK;
  return weir_fail(weir_output_status(errno), "%s: cannot write in %s: %s", path, existing,
                   strerror(errno));
}

weir_status weir_directory_is_empty(const char *path, bool *is_empty) {
  *is_empty = true;
  DIR *directory = opendir(path);
  if (!directory && errno == ENOENT) return WEIR_OK;
  if (!directory)
    return weir_fail(weir_status_of_errno(errno), "%s: cannot open the directory: %s", path,
                     strerror(errno));
  const struct dirent *entry;
  while (*is_empty && (entry = readdir(directory)))
    *is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, WEIR_DIRECTORY_LOCK_NAME) == 0;
  closedir(directory);
  return WEIR_OK;
}

weir_status weir_directory_free_bytes(const char *path, uint64_t *free_bytes) {
  struct statvfs system;
  char existing[PATH_MAX];
  WEIR_TRY(find_existing(path, existing));
  if (statvfs(existing, &system) != 0)
    return weir_fail(WEIR_FAILED, "%s: cannot tell the free space: %s", path, strerror(errno));
  *free_bytes = (uint64_t)system.f_bavail * system.f_frsize;
  return WEIR_OK;
}

weir_status weir_directory_sync(const char *path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* Some file systems cannot sync a directory; they say EINVAL and have nothing better. */
  bool failed = descriptor < 0 || (fsync(descriptor) != 0 && errno != EINVAL);
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!failed) return WEIR_OK;
  return weir_fail(WEIR_FAILED, "%s: the directory cannot be synced: %s", path, strerror(error));
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place) {
  (void)about, (void)type, (void)place;
  return remove(path);
}

weir_status weir_directory_remove(const char *path) {
  if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return WEIR_OK;
  return weir_fail(WEIR_FAILED, "%s: cannot be removed: %s", path, strerror(errno));
}

weir_status weir_directory_lock_take(const char *path, weir_directory_lock *lock) {
  char name[PATH_MAX];
  lock->descriptor = -1;
  int n = snprintf(name, sizeof name, "%s/%s", path, WEIR_DIRECTORY_LOCK_NAME);
  if (n < 0 || n >= (int)sizeof name)
    return weir_fail(WEIR_BAD_INPUT, "%.80s...: the path is too long", path);
  int descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return weir_fail(weir_output_status(errno), "%s: cannot write here: %s", path, strerror(errno));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    int error = errno;
    close(descriptor);
    if (error == EWOULDBLOCK)
      return weir_fail(WEIR_BAD_INPUT,
                       "%s: another weir is writing into this directory; wait for it, or give "
                       "another --output",
                       path);
    return weir_fail(WEIR_FAILED, "%s: cannot lock: %s", name, strerror(error));
  }
  lock->descriptor = descriptor;
  return WEIR_OK;
}

void weir_directory_lock_release(weir_directory_lock *lock) {
  if (lock->descriptor >= 0) close(lock->descriptor);
  lock->descriptor = -1;
}
