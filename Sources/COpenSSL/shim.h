#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <string.h>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

// SHA-256 from between two of its blocks: an EVP context does not give its state away.

static inline void haul_sha256_begin(SHA256_CTX *context, const uint32_t state[8], uint64_t count) {
  SHA256_Init(context);
  if (count == 0) return;
  memcpy(context->h, state, sizeof context->h);
  context->Nl = (SHA_LONG)(count << 3);
  context->Nh = (SHA_LONG)(count >> 29);
}

static inline void haul_sha256_add(SHA256_CTX *context, const void *bytes, size_t count) {
  SHA256_Update(context, bytes, count);
}

static inline void haul_sha256_end(SHA256_CTX *context, unsigned char digest[32]) { SHA256_Final(digest, context); }

#pragma clang diagnostic pop
