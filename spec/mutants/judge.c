#include "judge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECONDS
#define SECONDS 2 /* the longest check takes a tenth of it, with sanitizers half a second */
#endif

enum { BYTES = 200, MEMORY = 2000000000 };

void judge_renew_time(void) {
    const struct itimerval limit = {.it_value = {.tv_sec = SECONDS}};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/* Limits the memory, unless a sanitizer needs its terabytes. */
static void limit_memory(void) {
#ifndef __SANITIZE_ADDRESS__
    const struct rlimit memory = {.rlim_cur = MEMORY, .rlim_max = MEMORY};
    setrlimit(RLIMIT_AS, &memory);
#endif
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &none);
}

/* Judges in a child process. `why` is shared with the parent. */
static void judge_here(unsigned mutant, char why[BYTES]) {
    int nothing = open("/dev/null", O_WRONLY);
    if (nothing < 0 || dup2(nothing, 1) < 0 || dup2(nothing, 2) < 0) _exit(2);
    limit_memory();
    zkl_mutant = mutant;
    judge_renew_time();
    const char *broken = judge();
    if (broken) snprintf(why, BYTES, "%s", broken);
    exit(broken ? 1 : 0);
}

static const char *verdict(int status, const char *why) {
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGVTALRM ? "takes too long" : strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? NULL : *why ? why : "ends early";
}

static void judge_apart(unsigned mutant, char why[BYTES]) {
    struct rusage used;
    int status = 0;
    memset(why, 0, BYTES);
    pid_t child = fork();
    if (child == 0) judge_here(mutant, why);
    if (child < 0 || wait4(child, &status, 0, &used) < 0) {
        perror("judge");
        exit(1);
    }
    const char *killed = verdict(status, why);
    double seconds = (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6;
    printf("%u\t%s\t%.3f\t%s\n", mutant, killed ? "killed" : "survived", seconds,
           killed ? killed : "");
    fflush(stdout);
}

int main(int argc, char **argv) {
    char *why = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (why == MAP_FAILED) return 1;
    for (int i = 1; i < argc; i++) judge_apart((unsigned)atoi(argv[i]), why);
    return 0;
}
