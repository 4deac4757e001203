/*
 * complaint.c - complaints about silent servers, from libzookeeper's log, its only report, and from
 * questions of ours (choice.c).
 *
 * The log callback knows no handle, so the process keeps its last complaint with a hash of the
 * address, in one atomic word, because a thread may log during a fork.
 */
#include <stdatomic.h>
#include <string.h>

#include "../core/hash.h"
#include "internal.h"

static _Atomic uint32_t last_heard; /* see packed() */

/* "Socket ADDRESS zk retcode=…: REASON", "connection to ADDRESS timed out …" */
static const struct {
    const char *before, *after;
    enum zkl_complaint means;
} forms[] = {{"Socket ", "server refused to accept the client", ZKL_COMPLAINT_REFUSED},
             {"Socket ", "failed while receiving a server response", ZKL_COMPLAINT_HUNG_UP},
             {"Socket ", "failed while flushing send queue", ZKL_COMPLAINT_HUNG_UP},
             {"connection to ", " timed out", ZKL_COMPLAINT_SILENT}};

#define KINDS 4u /* values of enum zkl_complaint */

/* A hash of an address, whose last bits are the complaint. */
static uint32_t packed(const char *address, size_t length, enum zkl_complaint means) {
    return zkl_hash(address, length) / KINDS * KINDS + means;
}

void zkl_complaint_note(const struct sockaddr_storage *server, enum zkl_complaint complaint) {
    char address[ZKL_ADDRESS_SIZE];
    int length = zkl_hosts_format_one(server, address);
    last_heard = packed(address, (size_t)length, complaint);
}

/* Runs on any thread of libzookeeper. */
void zkl_complaint_hear(const char *message) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *begin = strstr(message, forms[i].before);
        if (!begin || !strstr(begin, forms[i].after) || strstr(begin, ZKL_GATE_HOST)) continue;
        begin += strlen(forms[i].before);
        last_heard = packed(begin, strcspn(begin, " "), forms[i].means);
        return;
    }
}

enum zkl_complaint zkl_complaint_about(const struct servers *servers) {
    uint32_t heard = last_heard;
    enum zkl_complaint means = heard % KINDS;
    char each[ZKL_ADDRESS_SIZE];
    for (size_t i = 0; i < servers->count; i++) {
        if (zkl_hosts_format_one(&servers->list[i], each) &&
            packed(each, strlen(each), means) == heard)
            return means;
    }
    return ZKL_COMPLAINT_NONE;
}
