/*
 * A C library whose calls fail as those of other file systems do. Loaded before the real one; the environment says what
 * fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char here;

/* Whoever opens the C library by name gets this one, which passes on what it does not have. */
void *dlopen(const char *name, int flags) {
  void *(*real)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
  Dl_info own;
  if (name && strcmp(name, "libc.so.6") == 0 && dladdr(&here, &own)) name = own.dli_fname;
  return real(name, flags);
}

static int is_below(int fd, const char *folder) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

/*
 * FAIL_FLOCK is the number of an error, or `nfs`: there, a lock of a file becomes one of its bytes, for which the file
 * must be open for writing (exclusive) or reading (shared). FAIL_BELOW is the folder to which that is limited.
 */
int flock(int fd, int operation) {
  int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
  const char *fail = getenv("FAIL_FLOCK"), *folder = getenv("FAIL_BELOW");
  if (!fail || (folder && !is_below(fd, folder))) return real(fd, operation);
  if (strcmp(fail, "nfs") != 0) {
    errno = atoi(fail);
    return -1;
  }
  struct stat about;
  int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && mode == (operation & 1 ? O_WRONLY : O_RDONLY)) {
    errno = EBADF;
    return -1;
  }
  return real(fd, operation);
}

/* FAIL_CLOSE names a file. Closed, its number is at once another file's, as when another thread opens one. */
int close(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "close");
  const char *fail = getenv("FAIL_CLOSE");
  if (!fail || !is_below(fd, fail)) return real(fd);
  int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(other, fd);
  real(other);
  errno = EIO;
  return -1;
}
