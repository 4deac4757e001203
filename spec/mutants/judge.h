/*
 * judge.h - runs a check on many mutants, each in its own process of one program that has a switch.
 *
 *   judge_units 12 17 ...       the C tests of spec/core and spec/session but claim_table_test
 *   judge_table 12 17 ...       claim_table_test
 *   judge_schedules 12 17 ...   schedules of the simulator
 *
 * Prints each mutant's number, "killed" or "survived", processor seconds, and the killer, separated
 * by tabs. A crash, a failed assert or too much processor time kills, too.
 */
#ifndef JUDGE_H
#define JUDGE_H

extern unsigned zkl_mutant; /* the active mutant; 0: none */

/* Runs the check. Returns the failure, or NULL. */
const char *judge(void);

/* Allows SECONDS (2) of processor time from now on. */
void judge_renew_time(void);

#endif
