/*
 * search.c - looks for libzookeeper's sockets among the descriptors of the process (descriptors.c).
 *
 * The sockets become close-on-exec. A server may greet long after libzookeeper opened its socket,
 * so the search does not wait for the greeting, and repeats until connected. It also finds out
 * whether a guest at a gate is libzookeeper. In a process with thousands of descriptors a search
 * takes long, so it runs in a thread, without the mutex.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define SOON (ZKL_SECOND / 20)
#define LATER ZKL_SECOND
#define SOON_FOR (5 * ZKL_SECOND)

/* The pause after a search is at least this many times as long as the search took. */
#define PAUSE_FACTOR 10

static bool is_connecting(const struct zkl_link *link) {
    return link->handle && zkl_session_connection_state(link->session) != ZKL_SESSION_CONNECTED;
}

static bool has_guest(const struct zkl_link *link) {
    return link->gate.guest >= 0 || link->probe.gate.guest >= 0;
}

zkl_time zkl_search_due(const struct zkl_link *link) {
    if (link->search.running) return ZKL_NEVER;
    if (has_guest(link)) return 0;
    return is_connecting(link) ? link->search.due : ZKL_NEVER;
}

static void set_due(struct zkl_link *link, zkl_time begin) {
    zkl_time now = zkl_now(), pause = PAUSE_FACTOR * (now - begin);
    bool soon = now < link->unconnected_since + SOON_FOR || now < link->probe.open_at + SOON_FOR;
    zkl_time usual = soon ? SOON : LATER;
    link->search.due = now + (pause > usual ? pause : usual);
}

/* --- one search ------------------------------------------------------------------------------- */

/* Adds the addresses to which a handle connects. Without a gate it walks all servers. */
static void add_peers(struct servers *peers, const struct zkl_link *link, const struct gate *gate) {
    struct sockaddr_storage through_gate[] = {gate->address, gate->server};
    struct servers added = {through_gate, 2};
    if (gate->listener < 0) added = link->servers;
    if (added.count == 0) return;
    memcpy(peers->list + peers->count, added.list, added.count * sizeof *added.list);
    peers->count += added.count;
}

static struct servers copy_peers(const struct zkl_link *link) {
    size_t most = 2 * (2 + link->servers.count);
    struct servers peers = {malloc(most * sizeof *peers.list), 0};
    if (!peers.list) return peers;
    if (link->handle) add_peers(&peers, link, &link->gate);
    if (link->probe.handle) add_peers(&peers, link, &link->probe.gate);
    return peers;
}

/* Gives up the mutex meanwhile. */
static void judge_guest(struct zkl_link *link, struct gate *gate) {
    struct sockaddr_storage guest = gate->guest_address;
    if (gate->guest < 0) return;
    zkl_unlock(link->client);
    bool ours = zkl_descriptors_has_socket_at(&guest);
    zkl_lock(link->client);
    zkl_gate_judge(gate, &guest, ours);
}

void zkl_search(struct zkl_link *link) {
    struct servers peers = copy_peers(link);
    zkl_unlock(link->client);
    zkl_descriptors_close_sockets_on_exec(&peers);
    free(peers.list);
    zkl_lock(link->client);
    judge_guest(link, &link->gate);
    judge_guest(link, &link->probe.gate);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void search_and_note(struct zkl_link *link) {
    zkl_time begin = zkl_now();
    zkl_search(link);
    link->search.running = false;
    set_due(link, begin);
    zkl_client_wake(link->client, 0);
}

static void *run_search(void *argument) {
    struct zkl_link *link = argument;
    zkl_client_enter(link->client);
    search_and_note(link);
    zkl_client_leave(link->client);
    zkl_client_drop(link->client);
    return NULL;
}

void zkl_search_work(struct zkl_link *link, zkl_time now) {
    if (now < zkl_search_due(link)) return;
    link->search.running = true;
    if (zkl_client_start_thread(link->client, run_search, link) != 0)
        search_and_note(link); /* for lack of a thread */
}
