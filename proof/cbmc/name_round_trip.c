/*
 * name_round_trip.c - a name that is written is read as what it was written of: kind, session,
 * nonce, whether it keeps and counts; each part by the function that reads it.
 *
 * Bounds:
 *   kind, session, nonce    all; not PERMIT, whose permits are decimal numbers of any length: CBMC
 *                           does not end on those in a minute (C tests have them)
 *   snprintf                is a model: of %s, and of hexadecimal digits of a fixed width, which
 *                           has to suffice
 *
 * cbmc: --unwind 89 --unwindset parse_hex.0:21
 */
#include "../../src/core/name.c"

#include <stdarg.h>

#include "any.h"

static char text[ZKL_NAME_SIZE]; /* the name ... */
static size_t written;           /* ... of this length */

/* Puts it into the text from `at` on; gives where it ends. */
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
            int width = format[++i] - '0'; /* behind the 0 */
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

/* The uuid of the text, whatever its marker is. */
static void show_uuid(uint64_t session, uint64_t nonce) {
    int kind = nondet_int();
    ASSUME(kind >= ZKL_MUTEX && kind <= ZKL_PERMIT);
    struct zkl_name name = {.kind = (enum zkl_kind)kind};
    char uuid[40];
    for (int i = 0; i < 40; i++) uuid[i] = text[i];
    parse_uuid(uuid, &name);
    SHOW(name.session == session && name.nonce == nonce, "of that session and nonce");
    bool keeps = kind == ZKL_MUTEX && nonce >> 48 == 0x4000;
    bool counts = keeps || (kind == ZKL_MUTEX && nonce >> 48 == 0x2000);
    SHOW(name.keeps == keeps && name.counts == counts, "it keeps and counts as its nonce says");
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
    show_uuid(session, nonce);
    return 0;
}
