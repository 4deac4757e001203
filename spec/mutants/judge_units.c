/* judge_units.c - the C tests, whose main() each has its program's name here. */
#include <stddef.h>

#include "judge.h"

#define UNIT(name) int name();
UNITS
#undef UNIT

#define UNIT(name) {#name, name},
static const struct unit {
    const char *name;
    int (*run)(); /* as main(): some take arguments */
} units[] = {UNITS};

const char *judge(void) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        judge_goes_on();
        char *arguments[] = {(char *)units[i].name, NULL};
        if (units[i].run(1, arguments) != 0) return units[i].name;
    }
    return NULL;
}
