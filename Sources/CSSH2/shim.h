#pragma once
#include <libssh2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

// What Swift can't say of libssh2: callbacks that give memory away, and macros with arguments.

/// A descriptor that another thread can make readable.
static inline int haul_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Answers each hidden prompt with the password, which is the session's context while the call runs (RFC 4256, 3.4).
static inline void haul_ssh_answer(
    const char *name, int name_length, const char *instruction, int instruction_length, int count,
    const LIBSSH2_USERAUTH_KBDINT_PROMPT *prompts, LIBSSH2_USERAUTH_KBDINT_RESPONSE *responses, void **context) {
  for (int i = 0; i < count; i++) {
    const char *answer = prompts[i].echo || !context || !*context ? "" : (const char *)*context;
    responses[i].text = strdup(answer);
    responses[i].length = responses[i].text ? (unsigned)strlen(answer) : 0;
  }
}

static inline int haul_ssh_interactive(LIBSSH2_SESSION *session, const char *user, unsigned length, const char *password) {
  void **context = libssh2_session_abstract(session);
  *context = (void *)password;
  int code = libssh2_userauth_keyboard_interactive_ex(session, user, length, haul_ssh_answer);
  *context = NULL;
  return code;
}
