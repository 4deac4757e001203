/*
 * resolver.c - preloaded, a resolver that fails for names while the file $BROKEN_RESOLVER exists.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

typedef int resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    unsigned char address[sizeof(struct in6_addr)];
    const char *broken = getenv("BROKEN_RESOLVER");
    int is_name =
        node && inet_pton(AF_INET, node, address) != 1 && inet_pton(AF_INET6, node, address) != 1;
    if (is_name && broken && access(broken, F_OK) == 0) return EAI_AGAIN;
    resolve *next = (resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
    return next(node, service, hints, found);
}
