/*
 * complaint.c - what libzookeeper says in its log about a server that does not answer. It is in no
 * result and no event, and the log callback knows no handle: so the last complaint of the process
 * is kept, with the address that it names.
 */
#include <string.h>

#include "internal.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char address[ZKL_ADDRESS_SIZE];
static enum zkl_complaint last;

/* "Socket ADDRESS zk retcode=…: REASON", "connection to ADDRESS timed out …" */
static const struct {
    const char *before, *after;
    enum zkl_complaint means;
} forms[] = {{"Socket ", "server refused to accept the client", ZKL_COMPLAINT_REFUSED},
             {"Socket ", "failed while receiving a server response", ZKL_COMPLAINT_HUNG_UP},
             {"Socket ", "failed while flushing send queue", ZKL_COMPLAINT_HUNG_UP},
             {"connection to ", " timed out", ZKL_COMPLAINT_SILENT}};

/* Any thread of libzookeeper's. */
void zkl_complaint_hear(const char *message) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *begin = strstr(message, forms[i].before);
        if (!begin || !strstr(begin, forms[i].after)) continue;
        begin += strlen(forms[i].before);
        size_t size = strcspn(begin, " ");
        if (size >= sizeof address) return;
        pthread_mutex_lock(&mutex);
        memcpy(address, begin, size);
        address[size] = '\0';
        last = forms[i].means;
        pthread_mutex_unlock(&mutex);
        return;
    }
}

enum zkl_complaint zkl_complaint_about(const struct servers *servers) {
    enum zkl_complaint found = ZKL_COMPLAINT_NONE;
    char each[ZKL_ADDRESS_SIZE];
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < servers->count; i++) {
        if (zkl_hosts_format_one(&servers->list[i], each) && strcmp(each, address) == 0)
            found = last;
    }
    pthread_mutex_unlock(&mutex);
    return found;
}
