// Apart from the header: the headers of sockets and of preadv2 would clash with Swift's own view of them.
#include "CPosix.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

static int argument_count;
static char **argument_words;

// glibc's start-up hands main's arguments to what .init_array names, before Swift's own code runs.
static void keep_arguments(int count, char **words, char **environment) {
  (void)environment;
  argument_count = count;
  argument_words = words;
}

__attribute__((section(".init_array"), used)) static void (*keep_at_start)(int, char **, char **) = keep_arguments;

int haul_argument_count(void) { return argument_count; }
const char *haul_argument(int index) { return argument_words[index]; }

int haul_sync(int file) {
  int code;
  do code = fsync(file);
  while (code != 0 && errno == EINTR);
  if (code != 0 && (errno == EINVAL || errno == ENOSYS)) code = syncfs(file);
  return code;
}

ssize_t haul_read_cached(int file, void *to, size_t count, off_t offset) {
  struct iovec block = {to, count};
  return preadv2(file, &block, 1, offset, RWF_NOWAIT);
}

int haul_interface_is_up(const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  int socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return -1;
  int code = ioctl(socket_, SIOCGIFFLAGS, &request), error = errno;
  close(socket_);
  errno = error;
  if (code < 0) return -1;
  return (request.ifr_flags & IFF_UP) && (request.ifr_flags & IFF_RUNNING);
}

int haul_has_network(void) {
  struct ifaddrs *all;
  if (getifaddrs(&all) != 0) return 1;
  int found = 0;
  for (struct ifaddrs *one = all; one && !found; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_LOOPBACK)) continue;
    if (!(one->ifa_flags & IFF_UP) || !(one->ifa_flags & IFF_RUNNING)) continue;
    if (one->ifa_addr->sa_family == AF_INET) found = 1;
    if (one->ifa_addr->sa_family == AF_INET6)
      found = !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr);
  }
  freeifaddrs(all);
  return found;
}

// A standard descriptor that is closed is given to no file of ours, which would take in what is printed: it is opened
// so that its own use still fails.
__attribute__((constructor)) static void reserve_standard_descriptors(void) {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++)
    if (fcntl(number, F_GETFD) < 0) (void)!open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int ignores_hangup;

// Before haul ignores it itself: nohup(1) means the programs that haul runs, too.
__attribute__((constructor)) static void note_hangup(void) {
  struct sigaction action;
  ignores_hangup = sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static volatile sig_atomic_t noted_signal;
static struct timespec noted_at;
static int status_of_second;

// Calls nothing but what signal-safety(7) allows.
static void note_signal(int number) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (noted_signal == 0) {
    noted_at = now;
    noted_signal = number;
  } else if ((now.tv_sec - noted_at.tv_sec) * 1000000000L + (now.tv_nsec - noted_at.tv_nsec) >= 1000000000L) {
    _exit(status_of_second);
  }
}

void haul_note_signal(int number, int status) {
  status_of_second = status;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigaction(number, &action, NULL);
}

int haul_noted_signal(void) { return noted_signal; }

int haul_spawn(
    pid_t *child, const char *path, char *const *arguments, char *const *environment, const char *folder, int output,
    int is_quiet) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  int code = posix_spawn_file_actions_init(&files);
  if (code != 0) return code;
  code = posix_spawnattr_init(&attributes);
  if (code == 0) {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGPIPE);
    if (!ignores_hangup) sigaddset(&defaults, SIGHUP);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    code = posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    if (code == 0) code = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0 && is_quiet)
      code = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    if (code == 0 && folder) code = posix_spawn_file_actions_addchdir_np(&files, folder);
    if (code == 0) code = posix_spawn(child, path, &files, &attributes, arguments, environment ? environment : environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return code;
}

void haul_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int haul_cores(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? count : 1;
}

static void *wait_for_release(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

int haul_try_threads(int count) {
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  pthread_t threads[64];
  int started = 0, error = 0;
  pthread_mutex_lock(&gate);
  while (error == 0 && started < count && started < 64) {
    error = pthread_create(&threads[started], &attributes, wait_for_release, &gate);
    if (error == 0) started++;
  }
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  pthread_attr_destroy(&attributes);
  pthread_mutex_destroy(&gate);
  return error;
}
