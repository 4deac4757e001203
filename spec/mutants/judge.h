/*
 * judge.h - runs a check on many mutants, each in its own process of one program that has a switch.
 *
 *   judge_units 12 17 ...       the C tests of spec/core and spec/session, but not the next one
 *   judge_table 12 17 ...       the test of all states
 *   judge_schedules 12 17 ...   schedules of the simulator
 *
 * Prints each mutant's number, "killed" or "survived", processor seconds, and the killer, separated
 * by tabs. Crashes, failed asserts and much processor time kill.
 */
#ifndef JUDGE_H
#define JUDGE_H

extern unsigned zkl_mutant; /* the active mutant; 0: none */

/* Runs the check. Returns the failure, or NULL. */
const char *judge(void);

/* Grants SECONDS (2) of the processor for the next part. */
void judge_renew_time(void);

#endif
