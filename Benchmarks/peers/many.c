/* The floor of many small uploads: the same requests as haul makes, bare, through one libcurl multi handle with
   `CONNECTIONS` in flight; chunks are hashed, nothing is stored or retried.
   usage: many put|sessions BASE_URL FOLDER COUNT CONNECTIONS THERE   the files are FOLDER/000000 and so on, and THERE/000000 */
#include <curl/curl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By sessions: what stands there, open, chunk, finalize. By PUT: the file, then a HEAD that proves its size. */
enum step { LOOK, OPEN, CHUNK, FINALIZE, PROVE, DONE };

struct job {
  CURL *curl;
  struct curl_slist *headers;
  enum step step;
  long index;
  char session[128], answer[2048], json[512];
  size_t length;
  char *bytes;
  size_t size, at;
};

static int by_sessions;
static const char *base, *folder, *there;
static long count, begun, finished;

static size_t collect(char *bytes, size_t one, size_t n, void *context) {
  struct job *job = context;
  size_t length = one * n;
  if (job->length + length < sizeof job->answer) {
    memcpy(job->answer + job->length, bytes, length);
    job->length += length;
    job->answer[job->length] = 0;
  }
  return length;
}

static size_t give(char *to, size_t one, size_t n, void *context) {
  struct job *job = context;
  size_t length = one * n;
  if (length > job->size - job->at) length = job->size - job->at;
  memcpy(to, job->bytes + job->at, length);
  job->at += length;
  return length;
}

static void load(struct job *job) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%06ld", folder, job->index);
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(66); }
  job->bytes = realloc(job->bytes, 1 << 20);
  job->size = fread(job->bytes, 1, 1 << 20, file);
  fclose(file);
}

static void prepare(struct job *job) {
  char url[1024], range[128];
  job->length = 0;
  job->answer[0] = 0;
  job->at = 0;
  curl_easy_reset(job->curl);
  curl_slist_free_all(job->headers);
  job->headers = curl_slist_append(NULL, "Expect:");
  if (job->step == LOOK) {
    snprintf(url, sizeof url, "%s/files/%s/%06ld/meta", base, there, job->index);
  } else if (job->step == PROVE) {
    snprintf(url, sizeof url, "%s/%s/%06ld", base, there, job->index);
    curl_easy_setopt(job->curl, CURLOPT_NOBODY, 1L);
  } else if (job->step == CHUNK) {
    if (by_sessions) {
      snprintf(url, sizeof url, "%s/uploads/sessions/%s/chunks/0", base, job->session);
      snprintf(range, sizeof range, "Content-Range: bytes 0-%zu/%zu", job->size - 1, job->size);
      job->headers = curl_slist_append(job->headers, range);
      unsigned char sum[32];
      char hash[128] = "X-Chunk-Hash: sha256=";
      EVP_Digest(job->bytes, job->size, sum, NULL, EVP_sha256(), NULL);
      for (int i = 0; i < 32; i++) sprintf(hash + strlen(hash), "%02x", sum[i]);
      job->headers = curl_slist_append(job->headers, hash);
    } else {
      snprintf(url, sizeof url, "%s/%s/%06ld", base, there, job->index);
    }
    curl_easy_setopt(job->curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(job->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)job->size);
    curl_easy_setopt(job->curl, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(job->curl, CURLOPT_READDATA, job);
  } else {
    job->headers = curl_slist_append(job->headers, "Content-Type: application/json");
    if (job->step == OPEN) {
      snprintf(url, sizeof url, "%s/uploads/sessions", base);
      snprintf(job->json, sizeof job->json,
               "{\"fileName\":\"%s/%06ld\",\"fileSize\":%zu,\"mimeType\":\"a/b\",\"chunkSize\":8388608}", there, job->index,
               job->size);
    } else {
      snprintf(url, sizeof url, "%s/uploads/sessions/%s/finalize", base, job->session);
      strcpy(job->json, "{}");
    }
    curl_easy_setopt(job->curl, CURLOPT_POSTFIELDS, job->json);
  }
  curl_easy_setopt(job->curl, CURLOPT_URL, url);
  curl_easy_setopt(job->curl, CURLOPT_HTTPHEADER, job->headers);
  curl_easy_setopt(job->curl, CURLOPT_WRITEFUNCTION, collect);
  curl_easy_setopt(job->curl, CURLOPT_WRITEDATA, job);
  curl_easy_setopt(job->curl, CURLOPT_PRIVATE, job);
}

static int begin(struct job *job) {
  if (begun == count) return 0;
  job->index = begun++;
  job->step = by_sessions ? LOOK : CHUNK;
  load(job);
  prepare(job);
  return 1;
}

/* True where the job has another request to make. */
static int advance(struct job *job) {
  long status = 0;
  curl_easy_getinfo(job->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status / 100 != 2 && !(job->step == LOOK && status == 404)) { fprintf(stderr, "HTTP %ld: %s\n", status, job->answer); exit(1); }
  if (by_sessions && job->step == OPEN) {
    const char *at = strstr(job->answer, "\"sessionId\":\"");
    if (!at) exit(1);
    at += 13;
    snprintf(job->session, sizeof job->session, "%.*s", (int)strcspn(at, "\""), at);
  }
  if (job->step == PROVE) {
    curl_off_t size = -1;
    curl_easy_getinfo(job->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &size);
    if (size != (curl_off_t)job->size) { fprintf(stderr, "%06ld has another size there\n", job->index); exit(1); }
  }
  if (job->step == FINALIZE) job->step = DONE;
  else if (job->step == CHUNK && !by_sessions) job->step = PROVE;
  else job->step++;
  if (job->step != DONE) { prepare(job); return 1; }
  finished++;
  return begin(job);
}

int main(int argc, char **argv) {
  if (argc != 7) return 64;
  there = argv[6];
  by_sessions = strcmp(argv[1], "sessions") == 0;
  base = argv[2];
  folder = argv[3];
  count = atol(argv[4]);
  int width = atoi(argv[5]);
  CURLM *multi = curl_multi_init();
  struct job *jobs = calloc((size_t)width, sizeof *jobs);
  for (int i = 0; i < width; i++) {
    jobs[i].curl = curl_easy_init();
    if (begin(&jobs[i])) curl_multi_add_handle(multi, jobs[i].curl);
  }
  int running = 1;
  while (finished < count) {
    curl_multi_perform(multi, &running);
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL *curl = message->easy_handle;
      struct job *job;
      if (message->data.result != CURLE_OK) { fprintf(stderr, "%s\n", curl_easy_strerror(message->data.result)); return 1; }
      curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&job);
      curl_multi_remove_handle(multi, curl);
      if (advance(job)) curl_multi_add_handle(multi, curl);
    }
    if (finished < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  return 0;
}
