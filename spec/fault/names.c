/*
 * names.c - preloaded, a resolver with changing answers. NAME.test has the addresses in the file
 * $NAMES/NAME, "127.0.0.1:PORT" a line, or none without that file. While $NAMES/hangs exists, no
 * such name is answered, and while $NAMES/fails exists, none can be resolved for the moment.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int resolver(const char *node, const char *service, const struct addrinfo *hints,
                     struct addrinfo **found);

static int has(const char *folder, const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static struct addrinfo *read_addresses(FILE *file, resolver *real) {
    struct addrinfo *found = NULL, **end = &found;
    char host[64], port[16];
    while (file && fscanf(file, " %63[^:]:%15s", host, port) == 2) {
        struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
        if (real(host, port, &hints, end) != 0) break;
        while (*end) end = &(*end)->ai_next;
    }
    return found;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    const char *folder = getenv("NAMES"), *suffix = node ? strstr(node, ".test") : NULL;
    if (!folder || !suffix) return real(node, service, hints, found);
    char path[500];
    while (has(folder, "hangs")) usleep(10000);
    if (has(folder, "fails")) return EAI_AGAIN;
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)(suffix - node), node);
    FILE *file = fopen(path, "r");
    *found = read_addresses(file, real);
    if (file) fclose(file);
    return *found ? 0 : EAI_NONAME;
}
