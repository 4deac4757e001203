/*
 * check.h - the harness of the C specs, programs of TESTs in a row.
 *
 *   int main(void) {
 *       TEST("a number is a number") { CHECK_IS(1 + 1, 2); }
 *       return check_report();
 *   }
 *
 * A failed check prints a line with file, line, promise and failure, and the test goes on.
 * check_report() prints totals and returns the exit status. CHECK_CASE() names a table's row for
 * failures. check_before(begin) adds begin() to later tests.
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { CHECK_SHOWN = 50 }; /* printed failures of a test */

static struct {
    void (*begin)(void);
    const char *promise;
    char row[160];
    unsigned complaints, passed, failed;
} check;

static inline void check_before(void (*begin)(void)) {
    check.begin = begin;
}

static inline bool check_begin(const char *promise) {
    check.promise = promise;
    check.row[0] = '\0';
    check.complaints = 0;
    if (check.begin) check.begin();
    return true;
}

static inline bool check_end(void) {
    if (check.complaints > CHECK_SHOWN)
        printf("%s: ... and %u more\n", check.promise, check.complaints - CHECK_SHOWN);
    if (check.complaints) check.failed++;
    else check.passed++;
    return false;
}

__attribute__((format(printf, 1, 2))) static inline void check_case(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check.row, sizeof check.row, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 3, 4))) static inline void check_complain(const char *file, int line,
                                                                        const char *format, ...) {
    va_list arguments;
    if (++check.complaints > CHECK_SHOWN) return;
    printf("%s:%d: %s: ", file, line, check.promise);
    if (check.row[0]) printf("[%s] ", check.row);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static inline void check_is(const char *file, int line, const char *what, int64_t is,
                            int64_t wanted) {
    if (is != wanted)
        check_complain(file, line, "%s is %" PRId64 ", not %" PRId64, what, is, wanted);
}

static inline void check_text(const char *file, int line, const char *what, const char *is,
                              const char *wanted) {
    if (!is || strcmp(is, wanted) != 0)
        check_complain(file, line, "%s is \"%s\", not \"%s\"", what, is ? is : "(null)", wanted);
}

static inline int check_report(void) {
    printf("%u passed, %u failed\n", check.passed, check.failed);
    return check.failed ? 1 : 0;
}

#define TEST(promise) for (bool check_on = check_begin(promise); check_on; check_on = check_end())

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : check_complain(__FILE__, __LINE__, "%s", #condition))
#define CHECK_IS(is, wanted) check_is(__FILE__, __LINE__, #is, (int64_t)(is), (int64_t)(wanted))
#define CHECK_TEXT(is, wanted) check_text(__FILE__, __LINE__, #is, is, wanted)
#define CHECK_CASE(...) check_case(__VA_ARGS__)

/* EACH(rows, i) { ... rows[i] ... } */
#define EACH(list, i) for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)

#endif
