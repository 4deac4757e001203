/*
 * hosts_fuzz.c - libFuzzer on connect strings, through lua/zklock/value/hosts.lua and
 * src/zookeeper/hosts.c, as in zklock.connect. Rules for any text:
 *
 *   - the text is split into hosts and chroot without a lost byte, or refused with a message that
 *     shows the form or names the chroot;
 *   - the resolver is asked once an entry, for a host without punctuation and a port in 1...65535;
 *   - libzookeeper gets an odd number of numeric addresses with ports, in the resolver's order, at
 *     most one of them twice, and the chroot;
 *   - without an address there is an error;
 *   - hosts.c survives texts that Lua would refuse.
 *
 * Run it from the top of the tree. --wrap=getaddrinfo,--wrap=freeaddrinfo replaces the resolver,
 * without a network.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lua_lines.h"
#include "zookeeper/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **found);
void __wrap_freeaddrinfo(struct addrinfo *found);

static void require(bool holds) {
    if (!holds) abort();
}

/* --- the resolver ------------------------------------------------------------------------- */

enum { MOST = 4096 };

static struct {
    bool strict; /* the text passed Lua */
    size_t asked, given;
    struct sockaddr_storage addresses[MOST];
} resolver;

static void check_question(const char *host, const char *port) {
    bool digits = strspn(port, "0123456789") == strlen(port) && strlen(port) > 0;
    if (!resolver.strict) return;
    require(*host && !strpbrk(host, ",/[] \t\r\n"));
    require(digits && strtoul(port, NULL, 10) >= 1 && strtoul(port, NULL, 10) <= 65535);
}

static void set_port(struct sockaddr_storage *address, const char *port) {
    in_port_t number = htons((uint16_t)strtoul(port, NULL, 10));
    if (address->ss_family == AF_INET) ((struct sockaddr_in *)address)->sin_port = number;
    else ((struct sockaddr_in6 *)address)->sin6_port = number;
}

/* A numeric host is its own address. A name's first letter tells how many addresses it has. */
static size_t addresses_of(const char *host, struct sockaddr_storage list[8]) {
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)list;
    struct sockaddr_in *four = (struct sockaddr_in *)list;
    memset(list, 0, 8 * sizeof *list);
    list->ss_family = AF_INET;
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) return 1;
    list->ss_family = AF_INET6;
    if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) return 1;
    size_t count = (size_t)(uint8_t)*host % 5;
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)(host[i % strlen(host)] + 1);
        list[i].ss_family = (byte & 1) ? AF_INET6 : AF_INET;
        if (byte & 1) memset(&((struct sockaddr_in6 *)&list[i])->sin6_addr, byte, 16);
        else memset(&((struct sockaddr_in *)&list[i])->sin_addr, byte, 4);
    }
    return count;
}

static struct addrinfo *new_entry(const struct sockaddr_storage *address) {
    bool six = address->ss_family == AF_INET6;
    struct addrinfo *info = calloc(1, sizeof *info);
    require(info != NULL);
    info->ai_addrlen = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    info->ai_addr = malloc(info->ai_addrlen);
    require(info->ai_addr != NULL);
    memcpy(info->ai_addr, address, info->ai_addrlen);
    return info;
}

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **found) {
    struct sockaddr_storage list[8];
    struct addrinfo **end = found;
    if (hints->ai_flags & AI_ADDRCONFIG) return EAI_NONAME; /* not asked for the list */
    check_question(host, port);
    resolver.asked++;
    size_t count = *host ? addresses_of(host, list) : 0;
    if (count == 0) return EAI_NONAME;
    for (size_t i = 0; i < count && resolver.given < MOST; i++) {
        set_port(&list[i], port);
        resolver.addresses[resolver.given++] = list[i];
        *end = new_entry(&list[i]);
        end = &(*end)->ai_next;
    }
    *end = NULL;
    return end == found ? EAI_NONAME : 0;
}

void __wrap_freeaddrinfo(struct addrinfo *found) {
    while (found) {
        struct addrinfo *next = found->ai_next;
        free(found->ai_addr);
        free(found);
        found = next;
    }
}

/* --- libzookeeper's list ------------------------------------------------------------------ */

static void check_entry(char *text, const struct sockaddr_storage *address) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    bool is_six = address->ss_family == AF_INET6;
    char bytes[16], *port = strrchr(text, ':');
    require(port != NULL);
    *port++ = '\0';
    text[strcspn(text, "%")] = '\0'; /* scope of a link-local address */
    require(inet_pton(address->ss_family, text, bytes) == 1);
    if (is_six) require(memcmp(bytes, &six->sin6_addr, 16) == 0);
    else require(memcmp(bytes, &four->sin_addr, 4) == 0);
    require(strtoul(port, NULL, 10) == ntohs(is_six ? six->sin6_port : four->sin_port));
}

static void check_list(const char *given, const char *chroot) {
    size_t length = strlen(given), tail = strlen(chroot), count = 0;
    require(length > tail && strcmp(given + length - tail, chroot) == 0);
    char *text = strndup(given, length - tail), *rest = text;
    require(text != NULL);
    for (char *each; (each = strsep(&rest, ",")); count++)
        check_entry(each, &resolver.addresses[count % resolver.given]);
    require(count == (resolver.given | 1));
    free(text);
}

static void resolve(const char *hosts, const char *chroot, bool strict) {
    struct servers servers;
    resolver.strict = strict;
    resolver.asked = resolver.given = 0;
    int error = zkl_hosts_resolve(hosts, &servers);
    require(servers.count == resolver.given && (error == 0) == (servers.count > 0));
    if (servers.count > 0) {
        char *text = zkl_hosts_format(&servers, 0, chroot);
        require(text != NULL);
        check_list(text, chroot);
        free(text);
    }
    free(servers.list);
}

/* --- Lua's result ------------------------------------------------------------------------- */

static size_t entries_of(const char *hosts) {
    size_t count = 1;
    for (; *hosts; hosts++) count += *hosts == ',';
    return count;
}

static void check_refusal(const char *message) {
    require(message && (strstr(message, "expected \"host:port,host:port/chroot\"") ||
                        strstr(message, "the chroot")));
}

static void check_split(const char *text, size_t size, const char *hosts, const char *chroot) {
    size_t front = strlen(hosts), tail = strlen(chroot);
    require(memcmp(text, hosts, front) == 0);
    if (tail > 0) require(front + tail == size && memcmp(text + front, chroot, tail) == 0);
    else require(front == size || (front + 1 == size && text[front] == '/'));
}

static void connect_string(const char *text, size_t size) {
    static lua_State *L;
    if (!L) L = lua_with_lines("return require('zklock.value.hosts').split");
    lua_pushvalue(L, 1);
    lua_pushlstring(L, text, size);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
        check_refusal(lua_tostring(L, -1));
    } else {
        lua_getfield(L, -1, "hosts");
        lua_getfield(L, -2, "chroot");
        check_split(text, size, lua_tostring(L, -2), lua_tostring(L, -1));
        resolve(lua_tostring(L, -2), lua_tostring(L, -1), true);
        require(resolver.asked == entries_of(lua_tostring(L, -2)));
    }
    lua_settop(L, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    connect_string(text, size);
    resolve(text, "/shop", false);
    free(text);
    return 0;
}
