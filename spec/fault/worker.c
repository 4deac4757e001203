/*
 * worker.c - preloaded into nginx. With $SLOW_NAMES a name takes two seconds to resolve; with
 * $NO_FOLDER no temporary folder can be made. Reads the environment early, because nginx takes it
 * from its workers.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

typedef int resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int slow_names, no_folder;

__attribute__((constructor)) static void read_environment(void) {
    slow_names = getenv("SLOW_NAMES") != NULL;
    no_folder = getenv("NO_FOLDER") != NULL;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    resolve *next = (resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
    unsigned char address[sizeof(struct in6_addr)];
    if (slow_names && node && inet_pton(AF_INET, node, address) != 1) sleep(2);
    return next(node, service, hints, found);
}

char *mkdtemp(char *template) {
    char *(*next)(char *) = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");
    if (!no_folder) return next(template);
    errno = EACCES;
    return NULL;
}
