/*
 * name_round_trip.c - a written name reads back as its kind, session and nonce, by each reading
 * function, and its uuid is dashed as ours are.
 *
 * Bounds:
 *   kind, session, nonce    all but PERMIT, whose decimal numbers take CBMC minutes (C tests have
 *                           them)
 *   snprintf                a model of %s and of hexadecimal digits with a fixed width
 *
 * cbmc: --unwind 89 --unwindset parse_hex.0:21
 */
#include "../../src/core/name.c"

#include <stdarg.h>

#include "any.h"

static char text[ZKL_NAME_SIZE]; /* the name ... */
static size_t written;           /* ... and its length */

/* Writes digits at `at`. Returns their end. */
static size_t put_hex(char *to, size_t at, uint64_t value, int width) {
    SHOW(value >> (4 * width) == 0, "the number fits its width");
    for (int i = width - 1; i >= 0; i--) {
        int digit = (int)(value >> (4 * i) & 0xf);
        to[at++] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    return at;
}

int snprintf(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    size_t at = 0;
    va_start(arguments, format);
    for (size_t i = 0; format[i]; i++) {
        if (format[i] != '%') {
            to[at++] = format[i];
        } else if (format[++i] == 's') {
            const char *part = va_arg(arguments, const char *);
            for (size_t j = 0; part[j]; j++) to[at++] = part[j];
        } else {
            int width = format[++i] - '0'; /* after the 0 */
            if (format[i + 1] != 'l') width = width * 10 + format[++i] - '0';
            at = put_hex(to, at, va_arg(arguments, uint64_t), width);
            i += 2;
        }
    }
    to[at] = '\0';
    va_end(arguments);
    SHOW(at < size, "there is room for the text");
    written += at;
    return (int)at;
}

/* Shows that these digits are exactly the number. */
static void show_hex(size_t at, size_t end, uint64_t number) {
    char digits[20] = "";
    uint64_t value;
    for (size_t i = at; i < end; i++) digits[i - at] = text[i];
    const char *rest = parse_hex(digits, &value);
    SHOW(rest == digits + (end - at) && value == number, "the uuid is of that session and nonce");
}

int main(void) {
    static const enum zkl_kind kinds[] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE};
    uint64_t session = nondet_uint64(), nonce = nondet_uint64();
    for (int i = 0; i < 3; i++) {
        enum zkl_kind kind;
        written = 0;
        zkl_name_prefix(text, kinds[i], session, nonce);
        SHOW(find_marker(text, written, &kind) && kind == kinds[i], "the marker is that kind's");
    }
    SHOW(is_dashed(text + 3), "the uuid has its dashes");
    show_hex(3, 21, session);
    show_hex(21, 39, nonce);
    return 0;
}
