#ifndef DEPOT_SHIMS_H
#define DEPOT_SHIMS_H

/// Opens `path` for reading below `rootfd`: no component, symbolic link or `..` may lead out of the root.
/// Kernels before 5.6 have no openat2; there every symbolic link is refused. Returns -1 with errno.
int depot_open_beneath(int rootfd, const char *path);

#endif
