/* To be preloaded: a wall clock that a test sets while the program runs. INFERD_TEST_CLOCK names a file with the
 * nanoseconds (int64) by which it is ahead; the monotonic clock stays. As in a kernel whose clock is set, waits for a
 * time of the wall clock follow it, also in their middle. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000, kSlice = 50000000;
static const volatile int64_t* ahead;
static int (*next_clock_gettime)(clockid_t, struct timespec*);
static long (*next_syscall)(long, ...);
static int (*next_timedwait)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);

__attribute__((constructor)) static void Open(void) {
  next_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  next_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  next_timedwait =
      (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  const char* name = getenv("INFERD_TEST_CLOCK");
  int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  void* page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) ahead = page;
  if (fd >= 0) close(fd);
}

static int64_t Ahead(void) { return ahead == NULL ? 0 : *ahead; }
static int64_t Nanoseconds(const struct timespec* time) { return time->tv_sec * kSecond + time->tv_nsec; }
static struct timespec Time(int64_t nanoseconds) {
  struct timespec time = {nanoseconds / kSecond, nanoseconds % kSecond};
  return time;
}

static int64_t RealNow(void) {
  struct timespec now;
  if (next_clock_gettime == NULL) Open();
  next_clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(&now);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (next_clock_gettime == NULL) Open();
  if (clock != CLOCK_REALTIME) return next_clock_gettime(clock, time);
  *time = Time(RealNow() + Ahead());
  return 0;
}

int gettimeofday(struct timeval* time, void* zone) {
  (void)zone;
  int64_t now = RealNow() + Ahead();
  time->tv_sec = now / kSecond;
  time->tv_usec = now % kSecond / 1000;
  return 0;
}

time_t time(time_t* out) {
  time_t now = (RealNow() + Ahead()) / kSecond;
  if (out != NULL) *out = now;
  return now;
}

/* The kernel's time for a deadline of ours, but no more than a slice away; then the caller looks again. */
static struct timespec NextLook(int64_t deadline) {
  int64_t now = RealNow(), real = deadline - Ahead();
  return Time(real < now + kSlice ? (real < 0 ? 0 : real) : now + kSlice);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* deadline) {
  int64_t ours = Nanoseconds(deadline);
  struct timespec look = NextLook(ours);
  int result = next_timedwait(condition, mutex, &look);
  if (result == ETIMEDOUT && RealNow() + Ahead() < ours) return 0; /* a wake-up for nothing */
  return result;
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (next_syscall == NULL) Open();
  int timed = number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && a[3];
  if (!timed) return next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  int64_t ours = Nanoseconds((const struct timespec*)a[3]);
  struct timespec look = NextLook(ours);
  long result = next_syscall(number, a[0], a[1], a[2], (long)&look, a[4], a[5]);
  if (result < 0 && errno == ETIMEDOUT && RealNow() + Ahead() < ours) errno = EINTR;
  return result;
}
