// CRC-64/NVME, reflected polynomial 0x9a6c9329ac4bc9b5, all ones in and out; S3's CRC64NVME.
#include "CChecksums.h"

#include <pthread.h>

#define POLYNOMIAL 0x9a6c9329ac4bc9b5ull

static uint64_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void) {
  for (uint64_t n = 0; n < 256; n++) {
    uint64_t crc = n;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    table[0][n] = crc;
  }
  for (int slice = 1; slice < 8; slice++)
    for (int n = 0; n < 256; n++)
      table[slice][n] = table[0][table[slice - 1][n] & 0xff] ^ (table[slice - 1][n] >> 8);
}

static uint64_t advanced(uint64_t crc, const uint8_t *next, size_t length) {
  for (; length >= 8; next += 8, length -= 8) {
    uint64_t word = 0;
    for (int byte = 7; byte >= 0; byte--) word = word << 8 | next[byte];
    crc ^= word;
    crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^ table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24 & 0xff]
        ^ table[3][crc >> 32 & 0xff] ^ table[2][crc >> 40 & 0xff] ^ table[1][crc >> 48 & 0xff] ^ table[0][crc >> 56];
  }
  while (length--) crc = table[0][(crc ^ *next++) & 0xff] ^ (crc >> 8);
  return crc;
}

uint64_t haul_crc64nvme_portable(uint64_t crc, const void *bytes, size_t length) {
  pthread_once(&table_once, make_table);
  return ~advanced(~crc, bytes, length);
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#include <wmmintrin.h>

// The two factors that carry a 128-bit lane over 64 and over 16 bytes of message.
static uint64_t by64[2], by16[2];
static int has_clmul;
static pthread_once_t hardware_once = PTHREAD_ONCE_INIT;

// x to the power modulo the polynomial, in reflected order: bit 63 is x^0.
static uint64_t power(int exponent) {
  uint64_t value = 1ull << 63;
  while (exponent--) value = (value >> 1) ^ (value & 1 ? POLYNOMIAL : 0);
  return value;
}

static void detect(void) {
  pthread_once(&table_once, make_table);
  // A product of two reflected words stands one power of x too high: hence the minus one.
  by64[0] = power(512 + 64 - 1), by64[1] = power(512 - 1);
  by16[0] = power(128 + 64 - 1), by16[1] = power(128 - 1);
  unsigned a, b, c, d;
  has_clmul = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL);
}

__attribute__((target("pclmul"))) static inline __m128i folded(__m128i lane, __m128i factors, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(lane, factors, 0x00), high = _mm_clmulepi64_si128(lane, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Four lanes folded over the message, then into one; the table takes that lane and the rest.
__attribute__((target("pclmul"))) static uint64_t hardware(uint64_t crc, const uint8_t *next, size_t length) {
  const __m128i over64 = _mm_set_epi64x((long long)by64[1], (long long)by64[0]);
  const __m128i over16 = _mm_set_epi64x((long long)by16[1], (long long)by16[0]);
  const __m128i *from = (const __m128i *)next;
  __m128i lane[4];
  for (int n = 0; n < 4; n++) lane[n] = _mm_loadu_si128(from + n);
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi64_si128((long long)crc));
  from += 4, length -= 64;
  for (; length >= 64; from += 4, length -= 64)
    for (int n = 0; n < 4; n++) lane[n] = folded(lane[n], over64, _mm_loadu_si128(from + n));
  __m128i sum = lane[0];
  for (int n = 1; n < 4; n++) sum = folded(sum, over16, lane[n]);
  for (; length >= 16; from++, length -= 16) sum = folded(sum, over16, _mm_loadu_si128(from));
  uint8_t last[16];
  _mm_storeu_si128((__m128i *)last, sum);
  return advanced(advanced(0, last, sizeof last), (const uint8_t *)from, length);
}

uint64_t haul_crc64nvme(uint64_t crc, const void *bytes, size_t length) {
  pthread_once(&hardware_once, detect);
  if (!has_clmul || length < 128) return ~advanced(~crc, bytes, length);
  return ~hardware(~crc, bytes, length);
}
#else
uint64_t haul_crc64nvme(uint64_t crc, const void *bytes, size_t length) {
  return haul_crc64nvme_portable(crc, bytes, length);
}
#endif
