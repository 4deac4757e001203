/*
 * fingerprint.h - tells states of the world apart, for exhaustive runs: two worlds
 * with the same fingerprint have the same future. 64 bits stand for the state; with
 * some millions of states two are confused with a probability below 10^-6.
 */
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

/* Was the world as it is now, with as many faults left, there before? Now it was. */
bool fingerprint_seen(void);

void fingerprints_clear(void);
uint64_t fingerprints_count(void);

#endif
