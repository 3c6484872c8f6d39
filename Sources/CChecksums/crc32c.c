// CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, all ones in and out (RFC 3720, 12.1).
#include "CChecksums.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u
// Bytes of one of the three streams that the processor works on side by side.
#define LONG_BLOCK 4096
#define SHORT_BLOCK 256

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint32_t n = 0; n < 256; n++) {
    uint32_t crc = n;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    table[0][n] = crc;
  }
  for (int slice = 1; slice < 8; slice++)
    for (int n = 0; n < 256; n++)
      table[slice][n] = table[0][table[slice - 1][n] & 0xff] ^ (table[slice - 1][n] >> 8);
}

uint32_t haul_crc32c_portable(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&table_once, make_table);
  const uint8_t *next = bytes;
  crc = ~crc;
  for (; length >= 8; next += 8, length -= 8) {
    crc ^= (uint32_t)next[0] | (uint32_t)next[1] << 8 | (uint32_t)next[2] << 16 | (uint32_t)next[3] << 24;
    crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24]
        ^ table[3][next[4]] ^ table[2][next[5]] ^ table[1][next[6]] ^ table[0][next[7]];
  }
  while (length--) crc = table[0][(crc ^ *next++) & 0xff] ^ (crc >> 8);
  return ~crc;
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>

// What a CRC becomes when a block's length of zero bytes follows, by each of its four bytes.
static uint32_t long_zeros[4][256], short_zeros[4][256];
static int has_sse42;
static pthread_once_t hardware_once = PTHREAD_ONCE_INIT;

static void make_zeros(uint32_t zeros[4][256], size_t length) {
  uint32_t image[32];
  for (int bit = 0; bit < 32; bit++) {
    uint32_t crc = 1u << bit;
    for (size_t n = 0; n < length; n++) crc = table[0][crc & 0xff] ^ (crc >> 8);
    image[bit] = crc;
  }
  for (int byte = 0; byte < 4; byte++)
    for (int n = 0; n < 256; n++) {
      uint32_t sum = 0;
      for (int bit = 0; bit < 8; bit++)
        if (n >> bit & 1) sum ^= image[byte * 8 + bit];
      zeros[byte][n] = sum;
    }
}

static void detect(void) {
  pthread_once(&table_once, make_table);
  make_zeros(long_zeros, LONG_BLOCK);
  make_zeros(short_zeros, SHORT_BLOCK);
  unsigned a, b, c, d;
  has_sse42 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
}

static inline uint64_t shifted(uint32_t zeros[4][256], uint64_t crc) {
  return zeros[0][crc & 0xff] ^ zeros[1][crc >> 8 & 0xff] ^ zeros[2][crc >> 16 & 0xff] ^ zeros[3][crc >> 24 & 0xff];
}

static inline uint64_t word(const uint8_t *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

#define THREE_STREAMS(block, zeros)                           \
  for (; length >= 3 * (block); length -= 3 * (block)) {      \
    uint64_t second = 0, third = 0;                           \
    const uint8_t *end = next + (block);                      \
    for (; next < end; next += 8) {                           \
      crc = _mm_crc32_u64(crc, word(next));                   \
      second = _mm_crc32_u64(second, word(next + (block)));   \
      third = _mm_crc32_u64(third, word(next + 2 * (block))); \
    }                                                         \
    crc = shifted(zeros, crc) ^ second;                       \
    crc = shifted(zeros, crc) ^ third;                        \
    next += 2 * (block);                                      \
  }

// The instruction takes three cycles and one can start each cycle: hence three streams.
__attribute__((target("sse4.2"))) static uint32_t hardware(uint32_t start, const uint8_t *next, size_t length) {
  uint64_t crc = (uint32_t)~start;
  THREE_STREAMS(LONG_BLOCK, long_zeros)
  THREE_STREAMS(SHORT_BLOCK, short_zeros)
  for (; length >= 8; next += 8, length -= 8) crc = _mm_crc32_u64(crc, word(next));
  while (length--) crc = _mm_crc32_u8((uint32_t)crc, *next++);
  return ~(uint32_t)crc;
}

uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length) {
  pthread_once(&hardware_once, detect);
  return has_sse42 ? hardware(crc, bytes, length) : haul_crc32c_portable(crc, bytes, length);
}
#else
uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length) {
  return haul_crc32c_portable(crc, bytes, length);
}
#endif
