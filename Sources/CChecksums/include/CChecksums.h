#pragma once
#include <stddef.h>
#include <stdint.h>

// Each takes the value of the bytes so far (0 for none) and returns the value with `length` bytes more.
// The plain names choose the processor's own instructions where it has them.

uint32_t haul_crc32c(uint32_t crc, const void *bytes, size_t length);
uint32_t haul_crc32c_portable(uint32_t crc, const void *bytes, size_t length);

uint32_t haul_crc32(uint32_t crc, const void *bytes, size_t length);
uint32_t haul_crc32_bytewise(uint32_t crc, const void *bytes, size_t length);

uint64_t haul_crc64nvme(uint64_t crc, const void *bytes, size_t length);
uint64_t haul_crc64nvme_portable(uint64_t crc, const void *bytes, size_t length);
