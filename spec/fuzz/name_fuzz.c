/*
 * name_fuzz.c - libFuzzer on names. No text is read out of bounds, accepted names obey the grammar
 * of name.h, and our own names are read as they were made.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static bool has_marker(const char *text) {
    return strstr(text, "lock-") || strstr(text, "__lock__") || strstr(text, "__rlock__") ||
           strstr(text, "__WRIT__") || strstr(text, "__READ__") || strstr(text, "permit-");
}

static void parse(const char *text) {
    struct zkl_name name;
    size_t length = strlen(text);
    if (!zkl_name_parse(text, &name)) return;
    require(length >= 15 && has_marker(text));
    for (size_t i = length - 9; i < length; i++) require(text[i] >= '0' && text[i] <= '9');
    bool permits = name.kind == ZKL_PERMIT;
    require(permits || name.kind == ZKL_MUTEX || name.kind == ZKL_READ || name.kind == ZKL_WRITE);
    if (permits) require(name.permits >= 1 && name.permits <= name.limit);
    if (strncmp(text, "_c_", 3) != 0) require(name.session == 0 && name.nonce == 0);
}

static void round_trip(const uint8_t *data) {
    char text[ZKL_NAME_SIZE + 16];
    struct zkl_name name;
    uint64_t session, nonce;
    int32_t sequence;
    enum zkl_kind kind = (enum zkl_kind)(data[0] % 3);
    memcpy(&session, data + 1, sizeof session);
    memcpy(&nonce, data + 9, sizeof nonce);
    memcpy(&sequence, data + 17, sizeof sequence);
    zkl_name_prefix(text, kind, session, nonce);
    require(!zkl_name_parse(text, &name));
    snprintf(text + strlen(text), 16, "%010d", (int)sequence);
    require(strlen(text) < ZKL_NAME_SIZE);
    require(zkl_name_parse(text, &name));
    require(name.kind == kind && name.session == session && name.nonce == nonce);
    require(name.sequence == (sequence == INT32_MIN ? INT32_MIN + 1 : sequence));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    parse(text);
    free(text);
    if (size >= 21) round_trip(data);
    return 0;
}
