/* thread.c - time, threads, and the mutex of a session. */
#include <signal.h>
#include <time.h>

#include "internal.h"

zkl_time zkl_now(void) {
    struct timespec time;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &time); /* counts suspend: a sleeping host loses its locks */
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (zkl_time)time.tv_sec * ZKL_SECOND + time.tv_nsec;
}

zkl_time zkl_due(zkl_time timeout) {
    zkl_time now = zkl_now();
    return timeout >= ZKL_NEVER - now ? ZKL_NEVER : now + timeout;
}

/* Wakes who waits for news, if there are some. */
static void announce(struct zkl_session *session) {
    if (session->announced) pthread_cond_broadcast(&session->news);
    session->announced = false;
}

/* The conditions count by CLOCK_MONOTONIC (session.c); `due` is by zkl_now(). */
void zkl_wait_until(struct zkl_session *session, pthread_cond_t *condition, zkl_time due) {
    struct timespec time;
    zkl_time rest = due - zkl_now();
    announce(session); /* waiting unlocks */
    if (due == ZKL_NEVER) {
        pthread_cond_wait(condition, &session->mutex);
        return;
    }
    if (rest <= 0) return;
    clock_gettime(CLOCK_MONOTONIC, &time);
    zkl_time until = (zkl_time)time.tv_nsec + rest % ZKL_SECOND;
    time.tv_sec += (time_t)(rest / ZKL_SECOND + until / ZKL_SECOND);
    time.tv_nsec = (long)(until % ZKL_SECOND);
    pthread_cond_timedwait(condition, &session->mutex, &time);
}

/* A detached thread that no signal is delivered to. 0, or an errno value. */
int zkl_thread_start(void *(*run)(void *), void *argument) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) pthread_detach(thread);
    return error;
}

void zkl_lock(struct zkl_session *session) {
    pthread_mutex_lock(&session->mutex);
}

/* Waiters are woken when they can have the mutex, not before. */
void zkl_unlock(struct zkl_session *session) {
    bool news = session->announced;
    session->announced = false;
    pthread_mutex_unlock(&session->mutex);
    if (news) pthread_cond_broadcast(&session->news);
}
