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

static atomic_bool refuses_ipv4; /* libzookeeper, when last asked */

/*
 * libzookeeper asks with this flag, which in a network of IPv6 alone refuses IPv4, loopback's
 * addresses, too. In a child that was forked while another thread asked, glibc never answers. Then
 * a resolver's thread hangs here, before libzookeeper hangs with the client's mutex held.
 */
static void ask_as_libzookeeper(void) {
    const struct addrinfo hints = {.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int error = getaddrinfo(ZKL_GATE_HOST, NULL, &hints, &found);
    if (!error) freeaddrinfo(found);
    refuses_ipv4 = error == EAI_ADDRFAMILY;
}

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
    ask_as_libzookeeper();
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

/* An IPv4 address in IPv6's form; zeros for other families. */
static struct sockaddr_in6 as_ipv6(const struct sockaddr_storage *address) {
    struct sockaddr_in6 six = {0};
    struct sockaddr_in four;
    if (address->ss_family == AF_INET6) memcpy(&six, address, sizeof six);
    if (address->ss_family != AF_INET) return six;
    memcpy(&four, address, sizeof four);
    six.sin6_port = four.sin_port;
    memset(&six.sin6_addr.s6_addr[10], 0xff, 2);
    memcpy(&six.sin6_addr.s6_addr[12], &four.sin_addr, sizeof four.sin_addr);
    return six;
}

bool zkl_hosts_are_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    const struct sockaddr_in6 left = as_ipv6(a), right = as_ipv6(b);
    return left.sin6_port == right.sin6_port &&
           memcmp(&left.sin6_addr, &right.sin6_addr, sizeof left.sin6_addr) == 0;
}

socklen_t zkl_hosts_size(const struct sockaddr_storage *server) {
    return server->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* Writes an address in numbers, with an IPv4 address in the form that libzookeeper takes. */
static int format(const struct sockaddr_storage *server, const char *before, const char *after,
                  char text[ZKL_ADDRESS_SIZE]) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    const char *form = server->ss_family == AF_INET && refuses_ipv4 ? "::ffff:" : "";
    if (getnameinfo((const struct sockaddr *)server, zkl_hosts_size(server), host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return 0;
    return snprintf(text, ZKL_ADDRESS_SIZE, "%s%s%s%s:%s", before, form, host, after, port);
}

int zkl_hosts_format_one(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]) {
    bool is_ipv4 = server->ss_family == AF_INET && !refuses_ipv4;
    return is_ipv4 ? format(server, "", "", text) : format(server, "[", "]", text);
}

int zkl_hosts_write_entry(const struct sockaddr_storage *server, char text[ZKL_ADDRESS_SIZE]) {
    return format(server, "", "", text);
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
        end += zkl_hosts_write_entry(&servers->list[(first + i) % count], end);
    }
    strcpy(end, chroot);
    return text;
}
