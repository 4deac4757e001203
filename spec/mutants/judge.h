/*
 * judge.h - runs one check on many mutants that are in one program, with a switch: a process each.
 *
 *   judge_units 12 17 ...       the C tests of spec/core and spec/session, but
 *   judge_table 12 17 ...       the one of them that tries all states
 *   judge_schedules 12 17 ...   schedules of the simulator
 *
 * For each mutant it prints its number, "killed" or "survived", processor seconds, and what killed
 * it, with tabs between. A crash and a failed assert kill; so does what takes too long, by the
 * processor's time.
 */
#ifndef JUDGE_H
#define JUDGE_H

extern unsigned zkl_mutant; /* which one is on; 0: none */

/* Runs the check on the program as it is now; what failed, or NULL. */
const char *judge(void);

/* The check goes on: it has SECONDS (2) of the processor for what it does next. */
void judge_goes_on(void);

#endif
