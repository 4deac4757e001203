/*
 * sim.c - the simulator's command line.
 *
 *   sim seeds FIRST COUNT [JOBS]   explores at random; prints the table of states and events
 *   sim transitions FIRST COUNT    also prints the outcomes of each event, see transitions.h
 *   sim small [CASE]               runs every schedule of a small case, or of all of them
 *   sim replay SEED|x TAPE         tells a run in words
 *   sim trace FIRST [COUNT]        writes runs of plain mutexes as traces, see trace.h
 *   sim cases                      lists the small cases
 *
 * The last line is `N passed, N failed`. A schedule that breaks a rule is shrunk and told in words,
 * with a command that replays it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explore.h"
#include "schedule.h"
#include "setting.h"
#include "story.h"
#include "trace.h"
#include "transitions.h"

enum { SMALL_LIMIT = 20000000 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- a run in words ----------------------------------------------------------------- */

static void print_setting(void) {
    const struct setting *setting = &world.setting;
    static const char *const mixes[MIXES] = {
        "mutexes",           "readers and writers", "all kinds", "a writer and others", "no order",
        "two paths",         "a condition",         "turns",     "kept locks",          "permits",
        "permits and others"};
    printf("%u clients, %u servers, %s%s%s%s\n", setting->clients, setting->servers,
           mixes[setting->mix], setting->refusals ? ", refusals" : "",
           setting->wild ? ", wild clocks" : "",
           world.counter > 1000 ? ", the counter near its end" : "");
}

static const char *tell_run(void) {
    story_told = true;
    const char *broken = schedule_run(NULL);
    story_told = false;
    print_setting();
    printf("%s\n", broken ? broken : "every rule holds");
    return broken;
}

static void tell_broken(struct explored *result) {
    if (result->tape.length == 0) return;
    explore_shrink(&result->tape, result->broken);
    choose_by_tape(&result->tape);
    tell_run();
    printf("replay: sim replay x ");
    for (size_t i = 0; i < result->tape.length; i++) printf("%02x", result->tape.choices[i]);
    putchar('\n');
}

/* --- commands ----------------------------------------------------------------------- */

static int seeds(uint64_t first, uint64_t count, unsigned jobs) {
    static struct explored result;
    double begin = seconds();
    explore_seeds(first, count, jobs, &result);
    double took = seconds() - begin;
    if (result.broken) {
        printf("seed %" PRIu64 ": %s\n", result.seed, result.broken);
        tell_broken(&result);
    } else {
        memcpy(coverage, result.coverage, sizeof coverage);
        coverage_print();
        printf("moves: ");
        for (unsigned i = 0; i < MOVES; i++)
            printf("%s%s %" PRIu64, i ? ", " : "", move_rows[i].name, result.moves[i]);
        putchar('\n');
    }
    printf("%" PRIu64 " schedules from seed %" PRIu64 ", %" PRIu64
           " grants, %.1f s, %.0f schedules/s\n",
           result.schedules, first, result.grants, took, (double)result.schedules / took);
    printf("%d passed, %d failed\n", !result.broken, result.broken != NULL);
    return result.broken != NULL;
}

static int transitions(uint64_t first, uint64_t count) {
    for (uint64_t seed = first; seed < first + count; seed++) {
        choose_by_seed(seed);
        if (!schedule_run(NULL)) continue;
        fprintf(stderr, "seed %" PRIu64 " breaks a rule\n", seed);
        return 1;
    }
    transitions_print();
    return 0;
}

static bool small_case(const char *name) {
    static struct explored result;
    struct tape pinned;
    memset(&result, 0, sizeof result);
    setting_small(name, &pinned);
    double begin = seconds();
    explore_small(&pinned, SMALL_LIMIT, &result);
    printf("%-10s %9" PRIu64 " schedules, %9" PRIu64 " states, %.1f s: %s\n", name,
           result.schedules, result.states, seconds() - begin,
           result.broken     ? result.broken
           : result.complete ? "every rule holds in each"
                             : "NOT COMPLETE");
    if (result.broken) tell_broken(&result);
    return result.complete;
}

static int small(const char *name) {
    unsigned passed = 0, failed = 0;
    const char *each, *what;
    for (unsigned i = 0; (each = setting_small_name(i, &what)); i++) {
        if (name && strcmp(name, each) != 0) continue;
        if (small_case(each)) passed++;
        else failed++;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed || !passed;
}

static int replay_tape(const char *text) {
    static struct tape tape;
    unsigned choice;
    for (; tape.length < TAPE && sscanf(text, "%2x", &choice) == 1; text += 2) {
        tape.choices[tape.length++] = (uint8_t)choice;
        if (!text[1]) break;
    }
    choose_by_tape(&tape);
    return tell_run() != NULL;
}

static int traces(uint64_t first, uint64_t count) {
    bool passed = true;
    setvbuf(stdout, NULL, _IOLBF, 0); /* complete lines, even after a crash */
    trace_written = true;
    for (uint64_t seed = first; seed < first + count; seed++) {
        printf("seed %" PRIu64 "\n", seed);
        trace_begin();
        choose_by_seed(seed);
        const char *broken = schedule_run(NULL);
        if (broken) fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, broken);
        passed = passed && !broken;
    }
    return !passed;
}

static int cases(void) {
    const char *name, *what;
    for (unsigned i = 0; (name = setting_small_name(i, &what)); i++)
        printf("%-10s %s\n", name, what);
    return 0;
}

int main(int argc, char **argv) {
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "seeds") == 0 && argc > 3)
        return seeds(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                     argc > 4 ? (unsigned)atoi(argv[4]) : (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    if (strcmp(command, "transitions") == 0 && argc > 3)
        return transitions(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    if (strcmp(command, "small") == 0) return small(argc > 2 ? argv[2] : NULL);
    if (strcmp(command, "replay") == 0 && argc > 3) return replay_tape(argv[3]);
    if (strcmp(command, "replay") == 0 && argc > 2) {
        choose_by_seed(strtoull(argv[2], NULL, 10));
        return tell_run() != NULL;
    }
    if (strcmp(command, "trace") == 0 && argc > 2)
        return traces(strtoull(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    if (strcmp(command, "cases") == 0) return cases();
    fputs("usage: sim seeds FIRST COUNT [JOBS] | transitions FIRST COUNT | small [CASE] |\n"
          "    replay SEED | replay x TAPE | trace FIRST [COUNT] | cases\n",
          stderr);
    return 2;
}
