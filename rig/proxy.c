/* proxy.c - a TCP proxy that understands ZooKeeper's framing, for fault injection.
 *
 * Usage:  proxy TARGET_HOST:PORT
 *
 * Listens on a free port of 127.0.0.1 and connects every client to the target.
 * Prints the port, then reads commands from stdin, one a line, and answers each
 * with exactly one line, "ok ..." or "error ...", once it is in effect. Ends at the
 * end of stdin, or when told to quit.
 *
 *   counts    ok create2=3 getChildren=1 ... flights=2 events=1
 *             Requests by operation since the last reset (only those not zero),
 *             counted when the whole request has gone to the server. Names are
 *             in link.c.
 *             flights  bursts of requests. A request joins the last burst on its
 *                      connection unless a reply to that burst has been forwarded.
 *                      ping and setWatches belong to no burst. A burst counts
 *                      when its first request arrives.
 *             events   watch events forwarded to clients
 *   bytes     ok up=1234 down=56789
 *             Bytes of requests (up), and of replies and events (down), that were
 *             forwarded in full since the last reset, without TCP's headers.
 *   reset     sets all counts to zero; the next request starts a new flight.
 *   delay MS  delays bytes that arrive from now on, in each direction, by MS/2
 *             milliseconds (a decimal number); keeps order, does not limit
 *             throughput. TCP handshakes are not delayed.
 *   quit      ends, also while another process holds stdin's other end open.
 *   cut       resets all connections (RST), both sides. Answers how many.
 *   refuse    refuses new connections ...
 *   accept    ... accepts them again, on the same port.
 *   blackhole stops forwarding both ways; connections stay open, new ones are
 *             accepted, data and the ends of connections are kept ...
 *   halfopen  stops forwarding from the servers to the clients only ...
 *   flow      ... until flow forwards all kept data, and requests on hold.
 *
 *   lack OPERATION  does drop-request, below, with each such request from now on, as a
 *             server that closes the connection at an unknown operation.
 *
 *   renew     removes the session from each connect request from now on. A client that
 *             reconnects gets a new session, as from a server that resumes none.
 *
 * The following commands await the Nth request from now, on any connection, with
 * the given operation (a name from above), and then act once. They may be combined;
 * if several await the same request, the first one given acts. After a cut the
 * client gets a RST, and the server reads all bytes sent to it and then EOF. Frames
 * ahead of the cut in the same direction still arrive before it.
 *
 *   drop-request OPERATION N  cuts instead of forwarding the request.
 *   cut-after OPERATION N     forwards the request, then cuts.
 *   drop-reply OPERATION N    forwards the request, cuts instead of forwarding
 *                             the reply.
 *   hold OPERATION N          holds the request, and all after it on its
 *                             connection, until flow. If flow comes first,
 *                             nothing is held.
 *
 * Four-letter words are no frames, so a connection that sends such a word is reset; after
 *
 *   deaf      it waits in vain for an answer.
 */
#define _GNU_SOURCE
#include "link.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct proxy {
    struct sockaddr_in own_address, target;
    int reserve;  /* a bound socket that never listens, so that the port stays ours */
    int listener; /* -1 while we refuse connections */
    struct traffic traffic;
    struct link **links;
    size_t link_count, link_capacity;
    struct pollfd *polls; /* stdin, listener, then client and server of each link */
    struct fifo input;    /* the start of a command */
    bool quitting;        /* told to quit */
};

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static nanoseconds clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (nanoseconds)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- connections --- */

static int bind_own_port(const struct proxy *proxy) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
        bind(fd, (const struct sockaddr *)&proxy->own_address, sizeof proxy->own_address) < 0)
        fail("bind");
    return fd;
}

static void start_listening(struct proxy *proxy) {
    if (proxy->listener >= 0) return;
    proxy->listener = bind_own_port(proxy);
    if (listen(proxy->listener, SOMAXCONN) < 0) fail("listen");
}

static void stop_listening(struct proxy *proxy) {
    if (proxy->listener >= 0) close(proxy->listener);
    proxy->listener = -1;
}

static void reserve_link(struct proxy *proxy) {
    if (proxy->link_count < proxy->link_capacity) return;
    proxy->link_capacity = 2 * proxy->link_capacity + 8;
    proxy->links = realloc(proxy->links, proxy->link_capacity * sizeof *proxy->links);
    proxy->polls = realloc(proxy->polls, (2 + 2 * proxy->link_capacity) * sizeof *proxy->polls);
    if (proxy->links == NULL || proxy->polls == NULL) fail("links");
}

static void accept_links(struct proxy *proxy) {
    int client;
    while ((client = accept4(proxy->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        reserve_link(proxy);
        proxy->links[proxy->link_count++] = link_open(client, &proxy->target);
    }
}

/* Moves all that can move, and forgets the links that are finished. */
static void run_links(struct proxy *proxy) {
    nanoseconds now = clock_now();
    size_t kept = 0;
    for (size_t i = 0; i < proxy->link_count; i++) {
        struct link *link = proxy->links[i];
        link_run(link, &proxy->traffic, now);
        if (link_finished(link)) link_free(link);
        else proxy->links[kept++] = link;
    }
    proxy->link_count = kept;
}

/* --- commands --- */

enum verb {
    COUNTS,
    BYTES,
    CLEAR,
    DELAY,
    CUT,
    REFUSE,
    ACCEPT,
    BLACKHOLE,
    HALFOPEN,
    FLOW,
    LACK,
    RENEW,
    DEAF,
    RULE,
    QUIT
};

static const struct command {
    const char *name;
    int arguments;
    enum verb verb;
    enum action action; /* if RULE */
} commands[] = {
    {"counts", 0, COUNTS, PASS},
    {"bytes", 0, BYTES, PASS},
    {"reset", 0, CLEAR, PASS},
    {"delay", 1, DELAY, PASS},
    {"cut", 0, CUT, PASS},
    {"refuse", 0, REFUSE, PASS},
    {"accept", 0, ACCEPT, PASS},
    {"blackhole", 0, BLACKHOLE, PASS},
    {"halfopen", 0, HALFOPEN, PASS},
    {"flow", 0, FLOW, PASS},
    {"lack", 1, LACK, PASS},
    {"renew", 0, RENEW, PASS},
    {"deaf", 0, DEAF, PASS},
    {"drop-request", 2, RULE, DROP_REQUEST},
    {"cut-after", 2, RULE, CUT_AFTER},
    {"drop-reply", 2, RULE, DROP_REPLY},
    {"hold", 2, RULE, HOLD},
    {"quit", 0, QUIT, PASS},
};

static void print_counts(const struct traffic *traffic) {
    fputs("ok", stdout);
    for (int i = 0; operation_name(i) != NULL; i++)
        if (traffic->requests[i] > 0) printf(" %s=%lu", operation_name(i), traffic->requests[i]);
    printf(" flights=%lu events=%lu\n", traffic->flights, traffic->events);
}

static void clear_counts(struct proxy *proxy) {
    memset(proxy->traffic.requests, 0, sizeof proxy->traffic.requests);
    proxy->traffic.flights = proxy->traffic.events = 0;
    proxy->traffic.up_bytes = proxy->traffic.down_bytes = 0;
    for (size_t i = 0; i < proxy->link_count; i++) proxy->links[i]->burst_open = false;
}

static void set_flow(struct proxy *proxy, bool up, bool down) {
    proxy->traffic.up_open = up;
    proxy->traffic.down_open = down;
}

/* Also removes hold rules, so that their requests, perhaps on their way, will pass. */
static void end_holds(struct proxy *proxy) {
    struct fifo *rules = &proxy->traffic.rules;
    size_t offset = 0;
    while (offset < fifo_length(rules)) {
        const struct rule *rule = (struct rule *)fifo_front(rules) + offset / sizeof *rule;
        if (rule->action == HOLD) fifo_remove(rules, offset, sizeof *rule);
        else offset += sizeof *rule;
    }
    for (size_t i = 0; i < proxy->link_count; i++) proxy->links[i]->held = false;
}

static void cut_links(struct proxy *proxy) {
    for (size_t i = 0; i < proxy->link_count; i++) link_reset(proxy->links[i]);
}

static bool set_delay(struct traffic *traffic, const char *text) {
    char *end;
    double milliseconds = strtod(text, &end);
    if (*end != '\0' || !(milliseconds >= 0 && milliseconds <= 1e6)) return false;
    traffic->one_way = (nanoseconds)(milliseconds * 1e6 / 2);
    return true;
}

static bool add_rule(struct traffic *traffic, enum action action, const char *name,
                     const char *number) {
    char *end;
    struct rule rule = {.action = action,
                        .operation = operation_of_name(name),
                        .remaining = strtol(number, &end, 10)};
    if (rule.operation < 0 || *end != '\0' || rule.remaining < 1) return false;
    fifo_append(&traffic->rules, &rule, sizeof rule);
    return true;
}

static bool add_lack(struct traffic *traffic, const char *name) {
    int operation = operation_of_name(name);
    if (operation >= 0) traffic->lacks |= 1u << operation;
    return operation >= 0;
}

static void obey(struct proxy *proxy, const struct command *command, const char *first,
                 const char *second) {
    bool done = true;
    switch (command->verb) {
    case COUNTS: print_counts(&proxy->traffic); return;
    case BYTES:
        printf("ok up=%" PRIu64 " down=%" PRIu64 "\n", proxy->traffic.up_bytes,
               proxy->traffic.down_bytes);
        return;
    case CUT:
        cut_links(proxy);
        printf("ok %zu\n", proxy->link_count);
        return;
    case CLEAR: clear_counts(proxy); break;
    case DELAY: done = set_delay(&proxy->traffic, first); break;
    case REFUSE: stop_listening(proxy); break;
    case ACCEPT: start_listening(proxy); break;
    case BLACKHOLE: set_flow(proxy, false, false); break;
    case HALFOPEN: set_flow(proxy, true, false); break;
    case FLOW:
        set_flow(proxy, true, true);
        end_holds(proxy);
        break;
    case LACK: done = add_lack(&proxy->traffic, first); break;
    case RENEW: proxy->traffic.renews = true; break;
    case DEAF: proxy->traffic.deaf = true; break;
    case QUIT: proxy->quitting = true; break;
    case RULE: done = add_rule(&proxy->traffic, command->action, first, second); break;
    }
    puts(done ? "ok" : "error bad argument");
}

static void run_command(struct proxy *proxy, const char *line) {
    char name[32] = "", first[32] = "", second[32] = "", more;
    int arguments = sscanf(line, "%31s %31s %31s %c", name, first, second, &more) - 1;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) != 0) continue;
        if (commands[i].arguments == arguments) obey(proxy, &commands[i], first, second);
        else printf("error %s takes %d arguments\n", name, commands[i].arguments);
        return;
    }
    printf("error no command \"%s\"\n", name);
}

/* False at the end of stdin, or after quit. */
static bool read_commands(struct proxy *proxy) {
    char chunk[4096];
    ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
    if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
    fifo_append(&proxy->input, chunk, (size_t)n);
    char *line, *end;
    while (line = fifo_front(&proxy->input),
           (end = memchr(line, '\n', fifo_length(&proxy->input))) != NULL) {
        *end = '\0';
        run_command(proxy, line);
        run_links(proxy);
        fifo_remove(&proxy->input, 0, (size_t)(end - line) + 1);
    }
    return fflush(stdout) == 0 && !proxy->quitting;
}

/* --- loop --- */

static nanoseconds next_due(const struct proxy *proxy) {
    nanoseconds next = NEVER;
    for (size_t i = 0; i < proxy->link_count; i++) {
        nanoseconds due = link_due(proxy->links[i], &proxy->traffic);
        if (due < next) next = due;
    }
    return next;
}

/* With no events, fd is -1, or poll would still report hang-ups that we know of. */
static struct pollfd poll_entry(int fd, bool readable, bool writable) {
    short events = (short)((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
    return (struct pollfd){.fd = events != 0 ? fd : -1, .events = events};
}

static void await_events(struct proxy *proxy) {
    proxy->polls[0] = poll_entry(STDIN_FILENO, true, false);
    proxy->polls[1] = poll_entry(proxy->listener, true, false);
    for (size_t i = 0; i < proxy->link_count; i++) {
        const struct link *link = proxy->links[i];
        bool up = link->connecting || (proxy->traffic.up_open && link->up.blocked);
        bool down = proxy->traffic.down_open && link->down.blocked;
        proxy->polls[2 + 2 * i] = poll_entry(link->client, link->up.ending == GO_ON, down);
        proxy->polls[3 + 2 * i] =
            poll_entry(link->server, !link->connecting && link->down.ending == GO_ON, up);
    }
    nanoseconds due = next_due(proxy), wait = due - clock_now();
    if (wait < 0) wait = 0;
    struct timespec timeout = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
    if (ppoll(proxy->polls, 2 + 2 * proxy->link_count, due == NEVER ? NULL : &timeout, NULL) < 0) {
        if (errno != EINTR) fail("poll");
        for (size_t i = 0; i < 2 + 2 * proxy->link_count; i++) proxy->polls[i].revents = 0;
    }
}

static void serve(struct proxy *proxy) {
    bool more = true;
    while (more) {
        await_events(proxy);
        for (size_t i = 0; i < proxy->link_count; i++)
            link_read(proxy->links[i], proxy->polls[2 + 2 * i].revents != 0,
                      proxy->polls[3 + 2 * i].revents != 0);
        short commands_waiting = proxy->polls[0].revents;
        if (proxy->polls[1].revents != 0) accept_links(proxy);
        run_links(proxy);
        if (commands_waiting != 0) more = read_commands(proxy);
    }
}

static bool resolve(const char *text, struct sockaddr_in *address) {
    char host[256];
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host) return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) return false;
    memcpy(address, found->ai_addr, sizeof *address);
    freeaddrinfo(found);
    return true;
}

static void proxy_open(struct proxy *proxy) {
    proxy->own_address.sin_family = AF_INET;
    proxy->own_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy->listener = -1;
    proxy->reserve = bind_own_port(proxy);
    socklen_t size = sizeof proxy->own_address;
    getsockname(proxy->reserve, (struct sockaddr *)&proxy->own_address, &size);
    start_listening(proxy);
    set_flow(proxy, true, true);
    proxy->polls = calloc(2, sizeof *proxy->polls);
    if (proxy->polls == NULL) fail("proxy");
}

static void proxy_close(struct proxy *proxy) {
    for (size_t i = 0; i < proxy->link_count; i++) link_free(proxy->links[i]);
    free(proxy->links);
    free(proxy->polls);
    fifo_free(&proxy->traffic.rules);
    fifo_free(&proxy->input);
    stop_listening(proxy);
    close(proxy->reserve);
}

int main(int argc, char **argv) {
    struct proxy proxy = {0};
    if (argc != 2 || !resolve(argv[1], &proxy.target)) {
        fputs("usage: proxy TARGET_HOST:PORT\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* else poll wakes up to 50 us late */
    proxy_open(&proxy);
    printf("%d\n", ntohs(proxy.own_address.sin_port));
    fflush(stdout);
    serve(&proxy);
    proxy_close(&proxy);
    return 0;
}
