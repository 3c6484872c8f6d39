#ifndef DEPOT_SHIMS_H
#define DEPOT_SHIMS_H

/// Opens `path` for reading below `rootfd`: no component, symbolic link or `..` may lead out of the root.
/// Kernels before 5.6 have no openat2; there every symbolic link is refused. Returns -1 with errno.
int depot_open_beneath(int rootfd, const char *path);

/// The words that the process was started with. Swift looks for them beside `environ`, which setenv(3) moves.
int depot_argument_count(void);
const char *depot_argument(int index);

#endif
