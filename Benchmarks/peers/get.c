/* The floor of a verified download: libcurl receives, EVP hashes, pwrite writes. One connection, one thread, no state.
   usage: get URL FILE   prints the SHA-256 in hex */
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int file;
static EVP_MD_CTX *digest;

static size_t take(char *bytes, size_t size, size_t count, void *context) {
  (void)context;
  size_t length = size * count, done = 0;
  EVP_DigestUpdate(digest, bytes, length);
  while (done < length) {
    ssize_t n = write(file, bytes + done, length - done);
    if (n < 0) return 0;
    done += (size_t)n;
  }
  return length;
}

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return 73;
  digest = EVP_MD_CTX_new();
  EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
  CURL *curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    fprintf(stderr, "%s\n", curl_easy_strerror(code));
    return 1;
  }
  unsigned char sum[32];
  EVP_DigestFinal_ex(digest, sum, NULL);
  for (int i = 0; i < 32; i++) printf("%02x", sum[i]);
  printf("\n");
  return close(file) == 0 ? 0 : 1;
}
