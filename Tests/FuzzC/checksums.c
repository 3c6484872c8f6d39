// Each checksum's two ways agree, in one piece and in two, at every alignment; under AddressSanitizer and UBSan.
#include "CChecksums.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGREE(one, other) \
  if ((one) != (other)) { \
    fprintf(stderr, "%s is not %s, length %zu, cut %zu\n", #one, #other, length, cut); \
    abort(); \
  }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  size_t offset = data[0] & 15, length = size - 3, cut = ((size_t)data[1] << 8 | data[2]) % (length + 1);
  // Of exactly this size, so that a byte too far is seen.
  uint8_t *block = malloc(offset + length);
  uint8_t *bytes = block + offset;
  memcpy(bytes, data + 3, length);

  uint32_t crc32 = haul_crc32c(0, bytes, length);
  AGREE(crc32, haul_crc32c_portable(0, bytes, length));
  AGREE(crc32, haul_crc32c(haul_crc32c_portable(0, bytes, cut), bytes + cut, length - cut));
  uint32_t zlib = haul_crc32(0, bytes, length);
  AGREE(zlib, haul_crc32_bytewise(0, bytes, length));
  AGREE(zlib, haul_crc32(haul_crc32_bytewise(0, bytes, cut), bytes + cut, length - cut));
  uint64_t crc64 = haul_crc64nvme(0, bytes, length);
  AGREE(crc64, haul_crc64nvme_portable(0, bytes, length));
  AGREE(crc64, haul_crc64nvme(haul_crc64nvme_portable(0, bytes, cut), bytes + cut, length - cut));

  free(block);
  return 0;
}
