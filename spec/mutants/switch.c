/* switch.c - which mutant is on: that of ZKL_MUTANT, until somebody else says. */
#include <stdlib.h>

unsigned zkl_mutant;

__attribute__((constructor)) static void read_mutant(void) {
    const char *number = getenv("ZKL_MUTANT");
    zkl_mutant = number ? (unsigned)atoi(number) : 0;
}
