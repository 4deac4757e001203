/*
 * fingerprint.h - recognises states in exhaustive runs. Equal fingerprints mean equal futures. With
 * 64 bits, a confusion among millions of states has a probability below 10^-6.
 */
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

/* Remembers this state. True if it was seen with as many faults left. */
bool fingerprint_seen(void);

void fingerprints_clear(void);
uint64_t fingerprints_count(void);

#endif
