/* The floor of an upload through the chunk-session API: the same requests and hashes as haul sends, from four threads,
   the whole file hashed on a fifth; no state, nothing asked on failure.
   usage: sessions BASE_URL NAME FILE CHUNK_BYTES     prints the server's SHA-256 */
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base;
static char session[256];
static int file;
static off_t size;
static long chunk;
static atomic_long next;
static atomic_int failed;
static char whole[65];

struct text { char bytes[4096]; size_t length; };

static size_t collect(char *bytes, size_t one, size_t count, void *context) {
  struct text *text = context;
  size_t length = one * count;
  if (text->length + length < sizeof text->bytes) {
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
  }
  return length;
}

static void hex(const unsigned char *sum, char *out) {
  for (int i = 0; i < 32; i++) sprintf(out + 2 * i, "%02x", sum[i]);
}

static int member(const char *json, const char *name, char *out, size_t room) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":\"", name);
  const char *at = strstr(json, key);
  if (!at) return 0;
  at += strlen(key);
  size_t length = strcspn(at, "\"");
  if (length >= room) return 0;
  memcpy(out, at, length);
  out[length] = 0;
  return 1;
}

static void *hash_whole(void *unused) {
  (void)unused;
  EVP_MD_CTX *digest = EVP_MD_CTX_new();
  EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
  char *bytes = malloc(1 << 20);
  for (off_t at = 0; at < size;) {
    ssize_t n = pread(file, bytes, 1 << 20, at);
    if (n <= 0) { failed = 1; break; }
    EVP_DigestUpdate(digest, bytes, (size_t)n);
    at += n;
  }
  unsigned char sum[32];
  EVP_DigestFinal_ex(digest, sum, NULL);
  hex(sum, whole);
  free(bytes);
  return NULL;
}

struct body { char *bytes; size_t length, at; };

static size_t give(char *to, size_t one, size_t count, void *context) {
  struct body *body = context;
  size_t length = one * count;
  if (length > body->length - body->at) length = body->length - body->at;
  memcpy(to, body->bytes + body->at, length);
  body->at += length;
  return length;
}

static void *work(void *unused) {
  (void)unused;
  CURL *curl = curl_easy_init();
  char *bytes = malloc((size_t)chunk);
  for (;;) {
    long index = next++;
    off_t start = (off_t)index * chunk;
    if (start >= size || failed) break;
    size_t length = (size_t)(size - start < chunk ? size - start : chunk);
    if (pread(file, bytes, length, start) != (ssize_t)length) { failed = 1; break; }
    unsigned char sum[32];
    EVP_Digest(bytes, length, sum, NULL, EVP_sha256(), NULL);
    char url[1024], range[128], hash[128] = "X-Chunk-Hash: sha256=";
    hex(sum, hash + strlen(hash));
    snprintf(url, sizeof url, "%s/uploads/sessions/%s/chunks/%ld", base, session, index);
    snprintf(range, sizeof range, "Content-Range: bytes %ld-%ld/%ld", (long)start, (long)(start + (off_t)length - 1), (long)size);
    struct curl_slist *headers = curl_slist_append(NULL, range);
    headers = curl_slist_append(headers, hash);
    headers = curl_slist_append(headers, "Expect:");
    struct body body = {bytes, length, 0};
    struct text answer = {.length = 0};
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)length);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(curl, CURLOPT_READDATA, &body);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    long status = 0;
    if (curl_easy_perform(curl) != CURLE_OK) failed = 1;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 != 2) failed = 1;
    curl_slist_free_all(headers);
  }
  free(bytes);
  curl_easy_cleanup(curl);
  return NULL;
}

static int post(const char *url, const char *json, struct text *answer) {
  CURL *curl = curl_easy_init();
  struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
  long status = 0;
  CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  return code == CURLE_OK && status / 100 == 2;
}

int main(int argc, char **argv) {
  if (argc != 5) return 64;
  base = argv[1];
  chunk = atol(argv[4]);
  file = open(argv[3], O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return 66;
  size = status.st_size;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  char url[1024], json[1024];
  snprintf(url, sizeof url, "%s/uploads/sessions", base);
  snprintf(json, sizeof json,
           "{\"fileName\":\"%s\",\"fileSize\":%ld,\"mimeType\":\"application/octet-stream\",\"chunkSize\":%ld}", argv[2],
           (long)size, chunk);
  struct text opened = {.length = 0}, closed = {.length = 0};
  if (!post(url, json, &opened) || !member(opened.bytes, "sessionId", session, sizeof session)) return 1;
  pthread_t hasher, workers[4];
  pthread_create(&hasher, NULL, hash_whole, NULL);
  for (int i = 0; i < 4; i++) pthread_create(&workers[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(workers[i], NULL);
  pthread_join(hasher, NULL);
  if (failed) return 1;
  snprintf(url, sizeof url, "%s/uploads/sessions/%s/finalize", base, session);
  snprintf(json, sizeof json, "{\"fileHashSha256\":\"%s\"}", whole);
  char theirs[65];
  if (!post(url, json, &closed) || !member(closed.bytes, "fileHashSha256", theirs, sizeof theirs)) return 1;
  printf("%s\n", theirs);
  return strcmp(theirs, whole) == 0 ? 0 : 1;
}
