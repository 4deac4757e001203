/*
 * thread.c - threads, a client's mutex, and the identity of this process.
 */
#include <signal.h>
#include <time.h>

#include "internal.h"
#include "linux.h"

static void wake_waiters(struct threaded *self) {
    if (self->broadcast_news) pthread_cond_broadcast(&self->news);
    self->broadcast_news = false;
}

void zkl_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Converts `due` from the clock of zkl_now() to CLOCK_MONOTONIC, by which a condition waits. */
void zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, zkl_time due) {
    struct timespec time;
    zkl_time rest = due - zkl_now();
    if (due == ZKL_NEVER) {
        pthread_cond_wait(condition, mutex);
        return;
    }
    if (rest < 0) rest = 0; /* late, but must release the mutex once */
    clock_gettime(CLOCK_MONOTONIC, &time);
    zkl_time until = (zkl_time)time.tv_nsec + rest % ZKL_SECOND;
    time.tv_sec += (time_t)(rest / ZKL_SECOND + until / ZKL_SECOND);
    time.tv_nsec = (long)(until % ZKL_SECOND);
    pthread_cond_timedwait(condition, mutex, &time);
}

void zkl_wait_until(struct threaded *self, pthread_cond_t *condition, zkl_time due) {
    wake_waiters(self); /* a wait unlocks the mutex, as zkl_unlock() does */
    zkl_condition_wait(condition, &self->mutex, due);
}

static int create_thread(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int zkl_thread_start(void *(*run)(void *), void *argument) {
    pthread_t thread;
    int error = create_thread(&thread, run, argument);
    if (error == 0) pthread_detach(thread);
    return error;
}

/* --- this process ---------------------------------------------------------------------------- */

static unsigned process = 1;
static int watch_error;

static void forked(void) {
    process++;
}

static void watch_forks(void) {
    watch_error = pthread_atfork(NULL, NULL, forked);
}

unsigned zkl_process_number(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return watch_error ? 0 : process;
}

bool zkl_process_is(unsigned number) {
    return number == process;
}

/* --- room for two more threads ----------------------------------------------------------- */

struct trial_thread {
    pthread_t thread;
    pid_t id;
    pthread_mutex_t *gate; /* locked until both threads run */
};

static void *wait_at_gate(void *argument) {
    struct trial_thread *trial_thread = argument;
    trial_thread->id = zkl_linux_thread_id();
    pthread_mutex_lock(trial_thread->gate);
    pthread_mutex_unlock(trial_thread->gate);
    return NULL;
}

#define TRIAL_PAUSE (ZKL_SECOND / 10000)

/* Also waits until a container's limit no longer counts the thread. */
static void join_trial(const struct trial_thread *trial_thread) {
    const struct timespec pause = {.tv_nsec = TRIAL_PAUSE};
    pthread_join(trial_thread->thread, NULL);
    for (int i = 0; i < ZKL_SECOND / TRIAL_PAUSE; i++) {
        if (!zkl_linux_thread_counts(trial_thread->id)) return;
        nanosleep(&pause, NULL);
    }
}

int zkl_check_thread_room(void) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct trial_thread trials[2] = {{.gate = &gate}, {.gate = &gate}};
    size_t count = 0;
    int error = 0;
    pthread_mutex_lock(&gate);
    while (!error && count < 2) {
        error = create_thread(&trials[count].thread, wait_at_gate, &trials[count]);
        if (!error) count++;
    }
    pthread_mutex_unlock(&gate);
    while (count > 0) join_trial(&trials[--count]);
    pthread_mutex_destroy(&gate);
    return error;
}

/* --- a client's mutex ------------------------------------------------------------------------- */

void zkl_lock(struct zkl_client *client) {
    pthread_mutex_lock(&zkl_threaded(client)->mutex);
}

/* Wakes waiters after the unlock, so that they find the mutex free. */
void zkl_unlock(struct zkl_client *client) {
    struct threaded *self = zkl_threaded(client);
    bool broadcast = self->broadcast_news;
    self->broadcast_news = false;
    pthread_mutex_unlock(&self->mutex);
    if (broadcast) pthread_cond_broadcast(&self->news);
}
