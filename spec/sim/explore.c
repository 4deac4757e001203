#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fingerprint.h"
#include "rules.h"
#include "schedule.h"

/* --- at random ---------------------------------------------------------------------- */

static void begin_counting(void) {
    memset(coverage, 0, sizeof coverage);
    memset(moves_made, 0, sizeof moves_made);
    rules_grants = 0;
}

static void take_counts(struct explored *result) {
    memcpy(result->coverage, coverage, sizeof coverage);
    memcpy(result->moves, moves_made, sizeof moves_made);
    result->grants = rules_grants;
}

static void add_counts(struct explored *sum, const struct explored *part) {
    sum->schedules += part->schedules;
    sum->grants += part->grants;
    for (unsigned i = 0; i < MOVES; i++) sum->moves[i] += part->moves[i];
    for (unsigned event = 0; event < EVENTS; event++)
        for (unsigned state = 0; state < STATES; state++)
            sum->coverage[event][state] += part->coverage[event][state];
    if (!part->broken || (sum->broken && sum->seed <= part->seed)) return;
    sum->broken = part->broken;
    sum->seed = part->seed;
    sum->tape = part->tape;
}

static void explore_some(uint64_t first, uint64_t end, uint64_t step, struct explored *result) {
    begin_counting();
    for (uint64_t seed = first; seed < end && !result->broken; seed += step) {
        choose_by_seed(seed);
        result->broken = schedule_run(NULL);
        result->seed = seed;
        result->schedules++;
    }
    result->tape = *choices_made();
    take_counts(result);
}

/* The child has the same addresses, so pointers to text stay valid. */
static int start_job(uint64_t first, uint64_t end, uint64_t step) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    pid_t child = fork();
    if (child != 0) {
        close(ends[1]);
        return child < 0 ? -1 : ends[0];
    }
    static struct explored part;
    explore_some(first, end, step, &part);
    FILE *out = fdopen(ends[1], "w");
    bool written = out && fwrite(&part, sizeof part, 1, out) == 1 && fclose(out) == 0;
    _exit(written ? 0 : 1);
}

/* A crash breaks a rule, too. */
static void end_job(int job, struct explored *result) {
    static struct explored part;
    FILE *in = job < 0 ? NULL : fdopen(job, "r");
    memset(&part, 0, sizeof part);
    if (!in || fread(&part, sizeof part, 1, in) != 1) part.broken = "the simulator does not crash";
    if (in) fclose(in);
    add_counts(result, &part);
    wait(NULL);
}

void explore_seeds(uint64_t first, uint64_t count, unsigned jobs, struct explored *result) {
    int pipes[64];
    if (jobs > 64) jobs = 64;
    fflush(stdout);
    for (unsigned job = 0; job < jobs; job++)
        pipes[job] = start_job(first + job, first + count, jobs);
    for (unsigned job = 0; job < jobs; job++) end_job(pipes[job], result);
}

/* --- a small case ------------------------------------------------------------------- */

void explore_small(const struct tape *pinned, uint64_t limit, struct explored *result) {
    bool more = true;
    begin_counting();
    fingerprints_clear();
    choose_all(pinned);
    while (more && result->schedules < limit && !result->broken) {
        result->broken = schedule_run(fingerprint_seen);
        result->schedules++;
        if (!result->broken) more = choose_next();
    }
    result->complete = !more && !result->broken;
    result->states = fingerprints_count();
    if (result->broken) result->tape = *choices_made();
    take_counts(result);
}

/* --- shrinking ---------------------------------------------------------------------- */

static bool breaks(const struct tape *tape, const char *rule) {
    choose_by_tape(tape);
    const char *broken = schedule_run(NULL);
    return broken && strcmp(broken, rule) == 0;
}

static bool cut_choices(struct tape *tape, size_t at, size_t count, const char *rule) {
    static struct tape shorter;
    if (at + count > tape->length) return false;
    shorter = *tape;
    memmove(shorter.choices + at, shorter.choices + at + count, tape->length - at - count);
    shorter.length -= count;
    if (!breaks(&shorter, rule)) return false;
    *tape = shorter;
    return true;
}

static bool lower_choice(struct tape *tape, size_t at, uint8_t choice, const char *rule) {
    uint8_t before = tape->choices[at];
    if (choice >= before) return false;
    tape->choices[at] = choice;
    if (breaks(tape, rule)) return true;
    tape->choices[at] = before;
    return false;
}

static bool shrink_once(struct tape *tape, const char *rule) {
    bool shrunk = false;
    for (size_t count = 32; count > 0; count /= 2)
        for (size_t at = tape->length; at-- > 0;)
            shrunk = cut_choices(tape, at, count, rule) || shrunk;
    for (size_t at = tape->length; at-- > 0;) {
        shrunk = lower_choice(tape, at, 0, rule) ||
                 lower_choice(tape, at, tape->choices[at] / 2, rule) || shrunk;
        if (tape->choices[at])
            shrunk = lower_choice(tape, at, tape->choices[at] - 1, rule) || shrunk;
    }
    return shrunk;
}

void explore_shrink(struct tape *tape, const char *broken) {
    for (int rounds = 0; rounds < 20 && shrink_once(tape, broken); rounds++) continue;
}
