/* judge_units.c - judges by the C tests. Each one's main() is named after its program. */
#include <stddef.h>

#include "judge.h"

#define UNIT(name) int name();
UNITS
#undef UNIT

#define UNIT(name) {#name, name},
static const struct unit {
    const char *name;
    int (*run)(); /* main(), partly with arguments */
} units[] = {UNITS};

const char *judge(void) {
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        judge_renew_time();
        char *arguments[] = {(char *)units[i].name, NULL};
        if (units[i].run(1, arguments) != 0) return units[i].name;
    }
    return NULL;
}
