#define _GNU_SOURCE
#include "depot_shims.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/// One component at a time, no link followed: for kernels and sandboxes without openat2.
static int open_by_component(int rootfd, const char *path) {
  int folder = dup(rootfd);
  while (folder >= 0) {
    const char *slash = strchr(path, '/');
    char name[256];
    size_t length = slash ? (size_t)(slash - path) : strlen(path);
    if (length >= sizeof name || length == 0) {
      close(folder);
      errno = ENOENT;
      return -1;
    }
    memcpy(name, path, length);
    name[length] = 0;
    if (strcmp(name, "..") == 0) {
      close(folder);
      errno = EXDEV;
      return -1;
    }
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (slash ? O_DIRECTORY : O_NONBLOCK);
    int next = openat(folder, name, flags);
    int saved = errno;
    close(folder);
    errno = saved;
    if (!slash) return next;
    folder = next;
    path = slash + 1;
  }
  return -1;
}

int depot_open_beneath(int rootfd, const char *path) {
  struct open_how how;
  memset(&how, 0, sizeof how);
  // O_NONBLOCK: opening a FIFO must not wait for its writer; it has no effect on regular files.
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd;
  int tries = 0;
  // EAGAIN: something was renamed meanwhile, and the kernel can't tell whether a link's `..` still leads inside.
  do {
    fd = syscall(SYS_openat2, rootfd, path, &how, sizeof how);
  } while (fd < 0 && errno == EAGAIN && ++tries < 1000);
  if (fd >= 0) return (int)fd;
  if (errno == ENOSYS || errno == EPERM) return open_by_component(rootfd, path);
  return -1;
}
