/*
 * hosts.c - resolves a host list, as names.c asks. libzookeeper would resolve on every turn of its
 * loop, and send nothing on failure (ZOOKEEPER-1998). It gets an odd number of numeric addresses,
 * because it tries only every other one of an even number (ZOOKEEPER-2466).
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define DEFAULT_PORT "2181"

static int add_servers(const char *host, const char *port, struct servers *servers) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    int error = getaddrinfo(host, port, &hints, &found);
    if (error) return error;
    for (struct addrinfo *entry = found; entry && !error; entry = entry->ai_next) {
        struct sockaddr_storage *more = realloc(servers->list, (servers->count + 1) * sizeof *more);
        if (!more) {
            error = EAI_MEMORY;
            continue;
        }
        servers->list = more;
        memset(&more[servers->count], 0, sizeof *more);
        memcpy(&more[servers->count++], entry->ai_addr, entry->ai_addrlen);
    }
    freeaddrinfo(found);
    return error;
}

/* Takes "host", "host:port", "[v6]" or "[v6]:port". Changes `entry`. */
static int resolve_entry(char *entry, struct servers *servers) {
    char *host = entry, *port = strrchr(entry, ':');
    char *bracket = strchr(entry, ']');
    if (bracket && port && port < bracket) port = NULL;
    if (port) *port++ = '\0';
    if (bracket && *host == '[') {
        host++;
        *bracket = '\0';
    }
    return add_servers(host, port ? port : DEFAULT_PORT, servers);
}

/* 0 if any host resolves, else an EAI_ code. */
int zkl_hosts_resolve(const char *hosts, struct servers *servers) {
    char *copy = strdup(hosts), *rest = copy;
    int error = copy ? EAI_NONAME : EAI_MEMORY; /* for an empty list */
    *servers = (struct servers){0};
    for (char *entry = copy ? strtok_r(copy, ",", &rest) : NULL; entry;
         entry = strtok_r(NULL, ",", &rest)) {
        int entry_error = resolve_entry(entry, servers);
        if (entry_error) error = entry_error;
    }
    free(copy);
    return servers->count ? 0 : error;
}

struct hosts *zkl_hosts_new(const char *text) {
    struct hosts *hosts = malloc(sizeof *hosts + strlen(text) + 1);
    if (!hosts) return NULL;
    hosts->previous = NULL;
    strcpy(hosts->text, text);
    return hosts;
}

bool zkl_hosts_are_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) return false;
    if (a->ss_family == AF_INET6) {
        struct sockaddr_in6 left, right;
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        return left.sin6_port == right.sin6_port &&
               memcmp(&left.sin6_addr, &right.sin6_addr, sizeof left.sin6_addr) == 0;
    }
    struct sockaddr_in left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return left.sin_port == right.sin_port && left.sin_addr.s_addr == right.sin_addr.s_addr;
}

socklen_t zkl_hosts_size(const struct sockaddr_storage *server) {
    return server->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int zkl_hosts_format_one(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo((const struct sockaddr *)server, zkl_hosts_size(server), host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return 0;
    return snprintf(text, ZKL_ADDRESS_SIZE, "%s:%s", host, port);
}

/* libzookeeper's connect string. */
char *zkl_hosts_format(const struct servers *servers, size_t first, const char *chroot) {
    size_t count = servers->count;
    size_t entries = count | 1;
    char *text = calloc(1, entries * (ZKL_ADDRESS_SIZE + 1) + strlen(chroot) + 1);
    if (!text) return NULL;
    char *end = text;
    for (size_t i = 0; i < entries; i++) {
        if (i > 0) *end++ = ',';
        end += zkl_hosts_format_one(&servers->list[(first + i) % count], end);
    }
    strcpy(end, chroot);
    return text;
}
