/* switch.c - the active mutant, at first that of ZKL_MUTANT. */
#include <stdlib.h>

unsigned zkl_mutant;

__attribute__((constructor)) static void read_mutant(void) {
    const char *number = getenv("ZKL_MUTANT");
    zkl_mutant = number ? (unsigned)atoi(number) : 0;
}
