/*
 * resolver.c - to be preloaded: while the file $BROKEN_RESOLVER exists, names
 * cannot be resolved, as when a name server does not answer. Addresses can. While
 * the file $RESOLVED exists, each name stands for the address that is in it.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* False: there is no such file. */
static int read_address(char text[static 64]) {
    const char *path = getenv("RESOLVED");
    FILE *file = path ? fopen(path, "re") : NULL;
    int found = file && fscanf(file, "%63s", text) == 1;
    if (file) fclose(file);
    return found;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    unsigned char address[sizeof(struct in6_addr)];
    const char *broken = getenv("BROKEN_RESOLVER");
    char text[64];
    int is_name =
        node && inet_pton(AF_INET, node, address) != 1 && inet_pton(AF_INET6, node, address) != 1;
    if (is_name && broken && access(broken, F_OK) == 0) return EAI_AGAIN;
    resolve *next = (resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (is_name && read_address(text)) node = text;
    return next(node, service, hints, found);
}
