// What Linux has and Swift's Glibc can't call: openat2 has no wrapper in glibc 2.36, ioctl is variadic.
#ifndef HAUL_CPOSIX_H
#define HAUL_CPOSIX_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Opens below `folder` and never outside it; links inside are followed (openat2(2), RESOLVE_BENEATH).
static inline int haul_open_beneath(int folder, const char *path, int flags, unsigned mode) {
  struct open_how how;
  memset(&how, 0, sizeof how);
  how.flags = (unsigned long long)flags | O_CLOEXEC;
  how.mode = (flags & O_CREAT) ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

static inline int haul_open_at(int folder, const char *path, int flags, unsigned mode) {
  return openat(folder, path, flags | O_CLOEXEC, mode);
}

// Renames; with `keep`, fails with EEXIST where the name is taken (renameat2(2), RENAME_NOREPLACE).
static inline int haul_rename(int from, const char *old, int to, const char *name, int keep) {
  return keep ? renameat2(from, old, to, name, RENAME_NOREPLACE) : renameat(from, old, to, name);
}

// Reserves space; returns 0 or an errno. Unlike posix_fallocate(3) it never writes zeros where the file system can't.
static inline int haul_allocate(int file, off_t size) {
  return fallocate(file, 0, 0, size) == 0 ? 0 : errno;
}

// Keeps memory in proportion to what is in use: large buffers go back to the system at once, few arenas (mallopt(3)).
static inline void haul_lean_malloc(void) {
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  mallopt(M_TRIM_THRESHOLD, 512 * 1024);
  mallopt(M_ARENA_MAX, 2);
}

// Whether so many threads more can be there at once: 0, or the errno of the one that could not be started.
int haul_try_threads(int count);

// 1 where the interface is up and has a carrier, 0 where not, -1 with errno where there is none (netdevice(7)).
int haul_interface_is_up(const char *name);

// 1 where an interface other than loopback is up and has an address of more than its own link (getifaddrs(3)).
int haul_has_network(void);

// Syncs data and metadata; a file that can't be synced by itself, with its whole file system. 0, or -1 with errno.
int haul_sync(int file);

// Reads what is in memory and waits for no disk: -1 with EAGAIN where nothing is (preadv2(2), RWF_NOWAIT).
ssize_t haul_read_cached(int file, void *to, size_t count, off_t offset);

// Runs a program, found by its path, in a process group of its own: standard input is /dev/null, standard output `output`,
// standard error ours or, where told, /dev/null; no other descriptor is left open. Its environment is ours where `environment`
// is null, and so is its folder. Signals that we ignore or block it does not (but for what nohup(1) ignores). 0, or an errno.
int haul_spawn(
    pid_t *child, const char *path, char *const *arguments, char *const *environment, const char *folder, int output,
    int is_quiet);

// Names this thread, for debuggers; at most 15 bytes.
void haul_name_thread(const char *name);

// Processors that this process may run on.
int haul_cores(void);

// Notes the first of these signals that comes, for whoever listens later. One that comes a second behind it, or later, ends
// the process with this status.
void haul_note_signal(int number, int status);

// The signal that was noted; 0 for none.
int haul_noted_signal(void);

// The words that the process was started with. Swift looks for them beside `environ`, which setenv(3) moves.
int haul_argument_count(void);
const char *haul_argument(int index);

static inline int haul_reflink(int to, int from) { return ioctl(to, FICLONE, from); }

#endif
