#pragma once
#include <curl/curl.h>

// libcurl's setters and getters are variadic, which Swift cannot call: one typed door for each kind of value.

typedef size_t (*haul_curl_data)(char *bytes, size_t size, size_t count, void *context);
typedef int (*haul_curl_seek)(void *context, curl_off_t offset, int origin);
typedef int (*haul_curl_sockopt)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef curl_socket_t (*haul_curl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*haul_curl_prereq)(void *context, char *ip, char *local_ip, int port, int local_port);
typedef int (*haul_curl_progress)(
    void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up);

static inline CURLcode haul_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_data(CURL *easy, CURLoption option, haul_curl_data value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode haul_curl_set_seek(CURL *easy, haul_curl_seek value) {
  return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode haul_curl_set_sockopt(CURL *easy, haul_curl_sockopt value) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, value);
}

static inline CURLcode haul_curl_set_prereq(CURL *easy, haul_curl_prereq value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode haul_curl_set_progress(CURL *easy, haul_curl_progress value) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode haul_curl_set_open(CURL *easy, haul_curl_open value) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode haul_curl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode haul_curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode haul_curl_get_string(CURL *easy, CURLINFO info, char **value) {
  return curl_easy_getinfo(easy, info, value);
}

// OpenSSL's, which libcurl is built on (ssl.h): declared here, as nothing else of its headers is needed.
typedef struct ssl_st haul_ssl;
extern struct stack_st_X509_NAME *SSL_get_client_CA_list(const haul_ssl *ssl);

/// Whether the server of the running transfer's connection asked for one.
static inline int haul_curl_was_asked_for_certificate(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == NULL) return 0;
  if (info->backend != CURLSSLBACKEND_OPENSSL || info->internals == NULL) return 0;
  // The authorities that its request names; there are none without a request.
  return SSL_get_client_CA_list((const haul_ssl *)info->internals) != NULL;
}

static inline CURLMcode haul_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
