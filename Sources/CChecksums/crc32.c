// CRC-32 (zlib, gzip, ISO 3309), reflected polynomial 0xedb88320, all ones in and out (RFC 1952, 8).
#include "CChecksums.h"

#include <pthread.h>

#define POLYNOMIAL 0xedb88320u

static uint32_t table[16][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t crc = n;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    table[0][n] = crc;
  }
  for (int slice = 1; slice < 16; slice++)
    for (int n = 0; n < 256; n++)
      table[slice][n] = table[0][table[slice - 1][n] & 0xff] ^ (table[slice - 1][n] >> 8);
}

uint32_t haul_crc32_bytewise(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&table_once, make_table);
  const uint8_t *next = bytes;
  crc = ~crc;
  while (length--) crc = table[0][(crc ^ *next++) & 0xff] ^ (crc >> 8);
  return ~crc;
}

// Sixteen bytes a step: their tables don't wait for each other.
uint32_t haul_crc32(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&table_once, make_table);
  const uint8_t *next = bytes;
  crc = ~crc;
  for (; length >= 16; next += 16, length -= 16) {
    uint32_t sum = 0;
    crc ^= (uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24;
    for (int n = 0; n < 4; n++) sum ^= table[15 - n][crc >> 8 * n & 0xff];
    for (int n = 4; n < 16; n++) sum ^= table[15 - n][next[n]];
    crc = sum;
  }
  return haul_crc32_bytewise(~crc, next, length);
}
