#include "name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const zkl_kind_names[] = {
    [ZKL_MUTEX] = "mutex",   [ZKL_READ] = "read",     [ZKL_WRITE] = "write",
    [ZKL_UNFAIR] = "unfair", [ZKL_PERMIT] = "permit", NULL};

static const struct marker {
    const char *text;
    enum zkl_kind kind;
} markers[] = {
    {"lock-", ZKL_MUTEX},    {"__lock__", ZKL_MUTEX}, {"__rlock__", ZKL_READ},
    {"__WRIT__", ZKL_WRITE}, {"__READ__", ZKL_READ},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The marker that ends text[0..length), if any. */
static bool find_marker(const char *text, size_t length, enum zkl_kind *kind) {
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        size_t size = strlen(markers[i].text);
        if (length < size || memcmp(text + length - size, markers[i].text, size) != 0) continue;
        *kind = markers[i].kind;
        return true;
    }
    return false;
}

/* Cuts the number off the end of text[0..*length). 0: no number, or leading zeros. */
static int32_t parse_count(const char *text, size_t *length) {
    int64_t value = 0, unit = 1;
    size_t end = *length;
    while (*length > 0 && is_digit(text[*length - 1]) && end - *length < 10) {
        value += unit * (text[--*length] - '0');
        unit *= 10;
    }
    bool plain = *length < end && text[*length] != '0';
    return plain && value <= INT32_MAX ? (int32_t)value : 0;
}

static bool cut_off(const char *text, size_t *length, const char *tail) {
    size_t size = strlen(tail);
    if (*length < size || memcmp(text + *length - size, tail, size) != 0) return false;
    *length -= size;
    return true;
}

/* Reads the "permit-<permits>-of-<limit>-" that ends text[0..length), if any. */
static bool parse_permits(const char *text, size_t length, struct zkl_name *name) {
    if (!cut_off(text, &length, "-")) return false;
    name->limit = parse_count(text, &length);
    if (!cut_off(text, &length, "-of-")) return false;
    name->permits = parse_count(text, &length);
    name->kind = ZKL_PERMIT;
    return cut_off(text, &length, "permit-") && name->permits >= 1 && name->permits <= name->limit;
}

/*
 * Reads the `digits` digits at the end of the name, the minus before them if `negative`, and the
 * marker before the number.
 */
static bool parse_counter(const char *text, size_t length, size_t digits, bool negative,
                          struct zkl_name *name) {
    size_t width = digits + (negative ? 1 : 0);
    if (length < width) return false;
    const char *number = text + length - digits;
    if (negative && number[-1] != '-') return false;
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)number[i] - '0';
        if (digit > 9) return false;
        value = value * 10 + digit;
    }
    name->permits = name->limit = 0;
    if (!find_marker(text, length - width, &name->kind) &&
        !parse_permits(text, length - width, name))
        return false;
    if (value > ZKL_SEQUENCE_LIMIT) value = ZKL_SEQUENCE_LIMIT;
    name->sequence = (int32_t)(negative ? -value : value);
    return true;
}

/* NULL: there are not 16 hex digits. */
static const char *parse_hex(const char *text, uint64_t *value) {
    *value = 0;
    for (int digits = 0; digits < 16; text++) {
        char c = *text;
        if (c == '-') continue;
        unsigned digit = (unsigned)c - '0';
        if (c >= 'a' && c <= 'f') digit = (unsigned)c - 'a' + 10;
        else if (digit > 9) return NULL;
        *value = *value << 4 | digit;
        digits++;
    }
    return text;
}

/* As in our uuids; go-zookeeper's have no dashes. */
static bool is_dashed(const char *uuid) {
    return uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-';
}

static enum zkl_reuse reuse_of(uint64_t nonce) {
    if (nonce >> 48 == ZKL_NONCE_KEEPS >> 48) return ZKL_MAY_BE_KEPT;
    return nonce >> 48 == ZKL_NONCE_COUNTS >> 48 ? ZKL_MANY_GRANTS : ZKL_ONE_GRANT;
}

static void parse_uuid(const char *text, struct zkl_name *name) {
    const char *rest;
    name->session = name->nonce = 0;
    name->reuse = ZKL_ONE_GRANT;
    if (strncmp(text, "_c_", 3) != 0) return;
    rest = parse_hex(text + 3, &name->session);
    if (rest && parse_hex(rest, &name->nonce)) {
        if (name->kind == ZKL_MUTEX && is_dashed(text + 3)) name->reuse = reuse_of(name->nonce);
        return;
    }
    name->session = name->nonce = 0;
}

bool zkl_name_parse(const char *text, struct zkl_name *name) {
    size_t length = strlen(text);
    if (!parse_counter(text, length, 10, false, name) &&
        !parse_counter(text, length, 10, true, name) && !parse_counter(text, length, 9, true, name))
        return false;
    parse_uuid(text, name);
    return true;
}

bool zkl_data_says_held(const char *data, size_t size) {
    return cut_off(data, &size, ZKL_HELD_WORD);
}

bool zkl_data_asks_to_give_way(const char *data, size_t size) {
    cut_off(data, &size, ZKL_HELD_WORD);
    return cut_off(data, &size, ZKL_REVOKE_DATA) && size == 0;
}

void zkl_name_downgrade(char text[ZKL_NAME_SIZE], const char *writer) {
    static const char from[] = "__WRIT__", to[] = "__READ__";
    const char *marker = strstr(writer, from);
    if (marker)
        snprintf(text, ZKL_NAME_SIZE, "%.*s%s%s", (int)(marker - writer), writer, to,
                 marker + strlen(from));
    else snprintf(text, ZKL_NAME_SIZE, "%s", writer);
}

void zkl_name_prefix(char text[ZKL_NAME_SIZE], enum zkl_kind kind, uint64_t session,
                     uint64_t nonce) {
    static const char *const markers_of[] = {[ZKL_MUTEX] = "lock-",
                                             [ZKL_READ] = "__READ__",
                                             [ZKL_WRITE] = "__WRIT__",
                                             [ZKL_PERMIT] = "permit-"};
    snprintf(text, ZKL_NAME_SIZE,
             "_c_%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "-%s",
             session >> 32, session >> 16 & 0xffff, session & 0xffff, nonce >> 48,
             nonce & UINT64_C(0xffffffffffff), markers_of[kind]);
}

void zkl_name_permit_prefix(char text[ZKL_NAME_SIZE], int32_t permits, int32_t limit,
                            uint64_t session, uint64_t nonce) {
    zkl_name_prefix(text, ZKL_PERMIT, session, nonce);
    size_t length = strlen(text);
    snprintf(text + length, ZKL_NAME_SIZE - length, "%" PRId32 "-of-%" PRId32 "-", permits, limit);
}
