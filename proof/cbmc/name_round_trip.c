/*
 * name_round_trip.c - a name that is written is read as what it was written of: kind, session,
 * nonce, whether it keeps and counts, permits and limit, and the number that the server adds.
 *
 * Bounds:
 *   kind, session, nonce    all
 *   number                  all that are not negative
 *   permits, limit          of two digits and of three, in a whole name; of one to ten digits the
 *                           counts alone
 *   snprintf                is a model: of %s, %d, and hexadecimal digits of a fixed width, which
 *                           has to suffice
 *   strlen                  is a model: the length that was written, at which the text is to end
 *
 * cbmc: --unwind 89
 */
#include "../../src/core/name.c"

#include <stdarg.h>

#include "any.h"

/* A number, as decimal digits say it. */
struct decimal {
    int count;
    char digits[10];
    int32_t value;
};

static struct decimal permits, limit, number;

static char text[ZKL_NAME_SIZE]; /* the name ... */
static size_t written;           /* ... of this length, which is known without looking */

size_t strlen(const char *of) {
    size_t length = 0;
    if (of != text) {
        while (of[length]) length++;
        return length;
    }
    for (size_t i = 0; i < written; i++) SHOW(text[i] != '\0', "the name does not end before");
    SHOW(text[written] == '\0', "the name ends there");
    return written;
}

static struct decimal any_decimal(int count, bool leads_with_zero) {
    struct decimal decimal = {.count = count};
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        char digit = nondet_char();
        ASSUME(is_digit(digit) && (leads_with_zero || i > 0 || digit != '0'));
        decimal.digits[i] = digit;
        value = value * 10 + (digit - '0');
    }
    ASSUME(value <= INT32_MAX);
    decimal.value = (int32_t)value;
    return decimal;
}

static char *put_decimal(char *to, const struct decimal *decimal) {
    for (int i = 0; i < decimal->count; i++) *to++ = decimal->digits[i];
    return to;
}

static char *put_hex(char *to, uint64_t value, int width) {
    SHOW(width == 16 || value >> (4 * width) == 0, "the number fits its width");
    for (int i = width - 1; i >= 0; i--) *to++ = "0123456789abcdef"[value >> (4 * i) & 0xf];
    return to;
}

int snprintf(char *to, size_t size, const char *format, ...) {
    va_list arguments;
    char *begin = to;
    int decimals = 0;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            *to++ = *format;
        } else if (format[1] == 's') {
            for (const char *text = va_arg(arguments, const char *); *text; text++) *to++ = *text;
            format++;
        } else if (format[1] == 'd') {
            int value = va_arg(arguments, int);
            SHOW(value == (decimals == 0 ? permits : limit).value, "permits, then their limit");
            to = put_decimal(to, decimals++ == 0 ? &permits : &limit);
            format++;
        } else {
            int width = format[3] == 'l' ? format[2] - '0' : 10 * (format[2] - '0') + format[3] - '0';
            to = put_hex(to, va_arg(arguments, uint64_t), width);
            format += format[3] == 'l' ? 4 : 5;
        }
    }
    *to = '\0';
    va_end(arguments);
    SHOW((size_t)(to - begin) < size, "there is room for the text");
    written += (size_t)(to - begin);
    return (int)(to - begin);
}

static void add_number(void) {
    *put_decimal(text + written, &number) = '\0';
    written += 10;
}

static void show_count(int digits) {
    char digits_only[10];
    struct decimal count = any_decimal(digits, false);
    size_t length = (size_t)(put_decimal(digits_only, &count) - digits_only);
    SHOW(parse_count(digits_only, &length) == count.value && length == 0,
         "a count is read as it is written");
}

static void show_read(enum zkl_kind kind, uint64_t session, uint64_t nonce) {
    struct zkl_name name;
    SHOW(zkl_name_parse(text, &name), "a name of ours is a contender's");
    SHOW(name.kind == kind && name.sequence == number.value, "of that kind and number");
    SHOW(name.session == session && name.nonce == nonce, "of that session and nonce");
    SHOW(name.permits == (kind == ZKL_PERMIT ? permits.value : 0), "of so many permits");
    SHOW(name.limit == (kind == ZKL_PERMIT ? limit.value : 0), "and that limit");
    bool keeps = kind == ZKL_MUTEX && nonce >> 48 == 0x4000;
    bool counts = keeps || (kind == ZKL_MUTEX && nonce >> 48 == 0x2000);
    SHOW(name.keeps == keeps && name.counts == counts, "it keeps and counts as its nonce says");
}

int main(void) {
    static const enum zkl_kind kinds[] = {ZKL_MUTEX, ZKL_READ, ZKL_WRITE};
    uint64_t session = nondet_uint64(), nonce = nondet_uint64();
    number = any_decimal(10, true);
    permits = any_decimal(2, false);
    limit = any_decimal(3, false);
    for (int i = 0; i < 3; i++) {
        written = 0;
        zkl_name_prefix(text, kinds[i], session, nonce);
        add_number();
        show_read(kinds[i], session, nonce);
    }
    written = 0;
    zkl_name_permits(text, permits.value, limit.value, session, nonce);
    add_number();
    show_read(ZKL_PERMIT, session, nonce);
    for (int digits = 1; digits <= 10; digits++) show_count(digits);
    return 0;
}
