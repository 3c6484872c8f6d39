/* The floor of many small downloads that are verified and recorded: only the calls that this needs, on one thread. Each body is
   held in memory and hashed, written to a file of another name, intended in a row of SQLite (WAL, synchronous FULL), renamed
   behind the group's commit, and its row is completed in the next group. Nothing is resumed, retried, limited, told or reported.
   usage: record LIST CONNECTIONS FOLDER   LIST has `NAME URL SHA256` a line; FOLDER exists, and gets FOLDER/NAME and FOLDER/floor.sqlite */
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP = 64 };

struct job {
  CURL *curl;
  char name[256], url[1024], expected[65];
  unsigned char *bytes;
  size_t length, room;
  EVP_MD_CTX *hash;
};

struct made { char name[256], part[300], digest[65]; struct stat facts; };

static FILE *list;
static int folder;
static sqlite3 *db;
static sqlite3_stmt *begin_group, *end_group, *intend, *complete;
static struct made made[GROUP], renamed[GROUP];
static int waiting, behind;
static long finished;

static void must(int good, const char *what) {
  if (!good) { perror(what); exit(1); }
}

static void run(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) { fprintf(stderr, "%s\n", sqlite3_errmsg(db)); exit(1); }
  sqlite3_reset(statement);
}

static sqlite3_stmt *prepared(const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) { fprintf(stderr, "%s\n", sqlite3_errmsg(db)); exit(1); }
  return statement;
}

/* One group: what was renamed is complete, what was made is about to be renamed; then it is. */
static void commit(void) {
  if (!waiting && !behind) return;
  run(begin_group);
  for (int i = 0; i < behind; i++) {
    sqlite3_bind_text(complete, 1, renamed[i].name, -1, SQLITE_STATIC);
    run(complete);
  }
  for (int i = 0; i < waiting; i++) {
    sqlite3_bind_text(intend, 1, made[i].name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(intend, 2, made[i].facts.st_size);
    sqlite3_bind_text(intend, 3, made[i].digest, -1, SQLITE_STATIC);
    sqlite3_bind_int64(intend, 4, (sqlite3_int64)made[i].facts.st_ino);
    run(intend);
  }
  run(end_group);
  for (int i = 0; i < waiting; i++) must(renameat(folder, made[i].part, folder, made[i].name) == 0, made[i].name);
  memcpy(renamed, made, sizeof made);
  behind = waiting;
  waiting = 0;
}

static size_t take(char *bytes, size_t one, size_t n, void *context) {
  struct job *job = context;
  size_t length = one * n;
  if (job->length + length > job->room) job->bytes = realloc(job->bytes, job->room = 2 * (job->length + length));
  memcpy(job->bytes + job->length, bytes, length);
  job->length += length;
  EVP_DigestUpdate(job->hash, bytes, length);
  return length;
}

static void keep(struct job *job) {
  long status = 0;
  curl_easy_getinfo(job->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) { fprintf(stderr, "%s: HTTP %ld\n", job->url, status); exit(1); }
  unsigned char sum[32];
  struct made *one = &made[waiting++];
  EVP_DigestFinal_ex(job->hash, sum, NULL);
  for (int i = 0; i < 32; i++) sprintf(one->digest + 2 * i, "%02x", sum[i]);
  if (strcmp(one->digest, job->expected)) { fprintf(stderr, "%s is damaged\n", job->url); exit(1); }
  strcpy(one->name, job->name);
  struct stat there;
  must(fstatat(folder, one->name, &there, AT_SYMLINK_NOFOLLOW) != 0, "a file that stands there already");
  snprintf(one->part, sizeof one->part, ".%s.part", job->name);
  int file = openat(folder, one->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  must(file >= 0 && write(file, job->bytes, job->length) == (ssize_t)job->length && fchmod(file, 0644) == 0
         && fstat(file, &one->facts) == 0 && close(file) == 0, one->part);
  finished++;
  if (waiting == GROUP) commit();
}

static int begin(struct job *job) {
  if (fscanf(list, "%255s %1023s %64s", job->name, job->url, job->expected) != 3) return 0;
  job->length = 0;
  EVP_DigestInit_ex(job->hash, EVP_sha256(), NULL);
  curl_easy_setopt(job->curl, CURLOPT_URL, job->url);
  curl_easy_setopt(job->curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(job->curl, CURLOPT_WRITEDATA, job);
  curl_easy_setopt(job->curl, CURLOPT_PRIVATE, job);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) return 64;
  list = fopen(argv[1], "r");
  must(list != NULL, argv[1]);
  int width = atoi(argv[2]), active = 0;
  folder = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char path[4096];
  snprintf(path, sizeof path, "%s/floor.sqlite", argv[3]);
  must(folder >= 0 && sqlite3_open(path, &db) == 0, path);
  sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE progress (name TEXT PRIMARY KEY, size INTEGER,"
                   " sha256 TEXT, inode INTEGER, completed_at REAL) WITHOUT ROWID", NULL, NULL, NULL);
  begin_group = prepared("BEGIN IMMEDIATE");
  end_group = prepared("COMMIT");
  intend = prepared("INSERT INTO progress (name, size, sha256, inode) VALUES (?, ?, ?, ?)");
  complete = prepared("UPDATE progress SET completed_at = julianday('now') WHERE name = ?");
  CURLM *multi = curl_multi_init();
  struct job *jobs = calloc((size_t)width, sizeof *jobs);
  for (int i = 0; i < width; i++) {
    jobs[i].curl = curl_easy_init();
    jobs[i].hash = EVP_MD_CTX_new();
    if (begin(&jobs[i])) { curl_multi_add_handle(multi, jobs[i].curl); active++; }
  }
  int running = 1;
  while (active > 0) {
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
      keep(job);
      if (begin(job)) curl_multi_add_handle(multi, curl); else active--;
    }
    if (active > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  commit();
  commit();
  must(fsync(folder) == 0 && sqlite3_close_v2(db) == 0, argv[3]);
  printf("%ld\n", finished);
  return 0;
}
