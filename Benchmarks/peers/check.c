// The floor of a resume check: reads a file's first bytes by as many threads as there are cores, in chunks of 8 MiB, and takes
// the CRC-32C of each, by the code that haul has for it.
//
//   check FILE BYTES
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "CChecksums.h"

enum { block = 1 << 20, chunk = 8 << 20 };
static int file;
static long long size;
static atomic_llong next_chunk;
static atomic_uint all;

static void *work(void *unused) {
  (void)unused;
  void *bytes = aligned_alloc(4096, block);
  for (;;) {
    long long at = atomic_fetch_add(&next_chunk, chunk);
    if (at >= size) break;
    uint32_t sum = 0;
    for (long long end = at + chunk < size ? at + chunk : size; at < end;) {
      ssize_t count = pread(file, bytes, end - at < block ? end - at : block, at);
      if (count <= 0) {
        perror("pread");
        exit(1);
      }
      sum = haul_crc32c(sum, bytes, count);
      at += count;
    }
    atomic_fetch_xor(&all, sum);
  }
  free(bytes);
  return NULL;
}

int main(int count, char **words) {
  if (count != 3 || (file = open(words[1], O_RDONLY)) < 0) {
    fprintf(stderr, "usage: check FILE BYTES\n");
    return 1;
  }
  size = atoll(words[2]);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  pthread_t threads[cores];
  for (long index = 0; index < cores; index++) pthread_create(&threads[index], NULL, work, NULL);
  for (long index = 0; index < cores; index++) pthread_join(threads[index], NULL);
  printf("%08x\n", all);
  return 0;
}
