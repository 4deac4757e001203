#include "fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "world.h"

/* --- the set of known states -------------------------------------------------------- */

static struct {
    uint64_t *slots;
    uint64_t size, count;
} set;

static bool insert(uint64_t hash) {
    uint64_t at = hash & (set.size - 1);
    while (set.slots[at] && set.slots[at] != hash) at = (at + 1) & (set.size - 1);
    if (set.slots[at]) return false;
    set.slots[at] = hash;
    set.count++;
    return true;
}

static void grow(void) {
    uint64_t *old = set.slots, size = set.size;
    set.size = size ? 2 * size : 1 << 16;
    set.count = 0;
    set.slots = calloc(set.size, sizeof *set.slots);
    if (!set.slots) {
        fputs("sim: out of memory\n", stderr);
        exit(1);
    }
    for (uint64_t i = 0; i < size; i++)
        if (old[i]) insert(old[i]);
    free(old);
}

void fingerprints_clear(void) {
    free(set.slots);
    memset(&set, 0, sizeof set);
    grow();
}

uint64_t fingerprints_count(void) {
    return set.count;
}

/* --- the parts of a state ----------------------------------------------------------- */

static uint64_t hash;

static void mix(uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 32;
}

static void mix_text(const char *text) {
    for (; *text; text++) mix((uint8_t)*text);
    mix(256);
}

/* Mixes a time, from now on, so that equal situations match. */
static void mix_time(zkl_time time, zkl_time now) {
    mix(time == ZKL_NEVER ? 1 : (uint64_t)(time - now));
}

/* Mixes a struct that has neither pointers nor times, and zeros where unused. */
static void mix_bytes(const void *from, size_t size) {
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t value = 0;
        size_t left = size - at;
        memcpy(&value, (const char *)from + at, left < sizeof value ? left : sizeof value);
        mix(value);
    }
}

static void mix_node(const struct node *node) {
    mix_bytes(node, offsetof(struct node, changes));
    for (int i = 0; i < node->change_count; i++)
        mix((uint64_t)node->changes[i].at << 3 | node->changes[i].content);
}

static void mix_op(const struct zkl_op *op) {
    mix((uint64_t)op->kind << 40 | (uint64_t)op->mode << 32 | (uint32_t)op->version);
    mix_text(op->path);
    mix(op->size);
}

static void mix_item(const struct item *item, zkl_time now) {
    mix((uint64_t)item->kind << 8 | (uint64_t)item->waiter_returned << 1 | item->arrived);
    mix((uint64_t)(uint32_t)item->error << 32 | item->refused);
    mix((uint64_t)item->czxid);
    mix((uint64_t)item->signal << 32 | item->guard);
    mix((uint64_t)item->view);
    mix((uint64_t)item->node << 32 ^ (uint64_t)item->session << 1 ^ (uint64_t)item->line);
    for (int i = 0; i < OPS; i++) mix((uint64_t)item->nodes[i]);
    mix_time(item->issued, now);
}

/* Mixes a queue. The session owns unanswered requests. */
static void mix_queue(struct queue *queue, zkl_time now, bool requests) {
    mix(queue->count);
    for (unsigned i = 0; i < queue->count; i++) {
        const struct item *item = queue_at(queue, i);
        mix_item(item, now);
        if (!requests) continue;
        mix((uint64_t)item->rpc.kind << 1 | item->rpc.watch);
        mix_text(item->rpc.path);
        for (size_t op = 0; op < item->rpc.count; op++) mix_op(&item->rpc.ops[op]);
    }
}

static void mix_claim(const struct zkl_claim *claim, zkl_time now) {
    mix((uint64_t)claim->state << 16 | (uint64_t)claim->code << 8 | claim->refusal);
    mix(claim->kind);
    mix((uint64_t)(claim->wanted | claim->stalled << 1 | claim->node.doubted << 2 |
                   claim->announced << 3 | claim->node.watched << 4 | claim->last_of_turn << 5 |
                   claim->awaits_list << 6 | (claim->reuse != ZKL_ONE_GRANT) << 7 |
                   claim->node.says_held << 8 | (claim->node.nonce != 0) << 9));
    mix(claim->as_waiter);
    mix((uint64_t)(uint32_t)claim->batch << 32 | (uint32_t)claim->node.grants);
    mix((uint64_t)(uint32_t)claim->permits << 32 | (uint32_t)claim->limit);
    mix((uint64_t)claim->mark_zxid << 2 | (uint64_t)(claim->holders_list != 0) << 1 |
        claim->needs_no_mark);
    mix((uint64_t)claim->node.czxid);
    mix((uint64_t)claim->node.list_serial << 32 | claim->rank_gets);
    if (claim->keep) mix_time(claim->node.list_time, now);
    mix((uint64_t)claim->holders_list << 1 | claim->recheck);
    mix(claim->rounds);
    mix((uint64_t)claim->epoch);
    mix_time(claim->deadline, now);
    mix((uint64_t)claim->max_waiters);
    mix((uint64_t)claim->keep);
    if (claim->batch < 0) mix_time(claim->node.turn_began, now);
    mix_text(claim->node.name);
    if (claim->ahead) mix_text(claim->ahead->name);
    if (claim->lookahead) mix_text(claim->lookahead->name);
    mix(claim->looking_ahead);
}

static void mix_backoff(const struct zkl_backoff *backoff, zkl_time now) {
    mix((uint64_t)backoff->length);
    if (backoff->gave_back) mix_time(backoff->gave_back, now);
    if (backoff->until > now) mix_time(backoff->until, now);
}

static void mix_line(const struct zkl_line *line, zkl_time now) {
    mix((uint64_t)(line->exhausted | line->incomplete << 1 | line->path_exists << 2 |
                   (unsigned)line->children << 3 | line->changed << 5));
    mix(line->serial);
    mix_backoff(&line->backoff, now);
    for (size_t i = 0; i < line->count; i++) {
        mix_text(line->contenders[i]->name);
        mix((uint64_t)line->contenders[i]->czxid << 1 | line->contenders[i]->claimed);
    }
}

static void mix_clock(const struct zkl_clock *clock, zkl_time now) {
    mix((uint64_t)clock->timeout << 1 | clock->connected);
    mix_time(clock->proof, now);
    mix_time(clock->steady_since, now);
    mix_time(clock->certain_until, now);
    mix_time(clock->attended, now);
    mix_time(clock->awake_since, now);
    mix(clock->epoch);
}

/* The place in the session's list, from 1; 0: not listed. */
static uint64_t place_of(const struct zkl_session *session, const struct stake *stake) {
    uint64_t place = 1;
    for (const struct stake *each = session->stakes; each; each = each->next, place++)
        if (each == stake) return place;
    return 0;
}

static void mix_stakes(const struct zkl_session *session, const struct parts *parts) {
    mix(parts->count);
    EACH_PART(parts, part) mix(place_of(session, part));
}

static void mix_stake(const struct stake *stake, zkl_time now) {
    const struct zkl_session *session = stake->session;
    mix_text(stake->path->text);
    mix_claim(&stake->claim, now);
    mix(place_of(session, (const struct stake *)stake->claim.partner) << 8 |
        place_of(session, (const struct stake *)stake->claim.next_part));
    mix((uint64_t)stake->phase << 8 | (uint64_t)(stake->node == NODE_GIVES_WAY) << 4 |
        (uint64_t)zkl_stake_is_revoked(stake) << 3 | (stake->part == PART_HELD) << 2 |
        stake->unallocated_calls << 1 | (stake->request != NULL));
    mix((uint64_t)stake->version << 32 | stake->handles << 16 | stake->writers);
    mix((uint64_t)(stake->downgrade != NULL));
    if (zkl_claim_is_pausing(&stake->claim)) mix_time(stake->wake_at, now);
    mix_text(stake->own_watch ? stake->own_watch->path : "");
    for (const struct want *want = stake->wants; want; want = want->next)
        mix_text(want->watch->path);
}

static void mix_call(const struct zkl_session *session, const struct call *call, zkl_time now) {
    const struct stake *stake = asking_stake(call);
    mix((uint64_t)(uintptr_t)call->kind << 3 | (call->watch != NULL) << 2 |
        (call->unsent_error != 0) << 1 | (stake && call->listed));
    mix(place_of(session, stake));
    mix_text(call->node ? call->node : "");
    mix_text(stake && call->contender ? call->contender->name : "");
    mix_time(call->issued_at, now);
    if (!call->asker && call->orphan_look_at) mix_time(call->orphan_look_at, now);
}

static void mix_request_of(const struct zkl_session *session, const struct zkl_request *request,
                           zkl_time now) {
    mix((uint64_t)request->kind << 3 | zkl_request_done(request) << 2 |
        (zkl_request_ends_with_claim(request) && request->handle));
    mix((uint64_t)request->code << 32 | request->asker.calls);
    mix_time(request->deadline, now);
    mix(request->ask_at ? (uint64_t)(request->ask_at - now) : 1);
    mix_stakes(session, &request->parts);
    if (zkl_request_has_queue(request)) {
        for (size_t i = 0; i < request->queue_length; i++) mix_text(request->queue[i].name);
        mix((uint64_t)request->visited << 32 | request->signal_count);
    }
    mix(request->effects);
    if (request->guard) mix(request->guard->refused_op);
}

static void mix_path(const struct path *path, zkl_time now) {
    mix_text(path->text);
    mix_line(&path->line, now);
    mix((uint64_t)path->lists_out << 2 | path->fixed_node);
    if (path->orphan_look_at) mix_time(path->orphan_look_at, now);
}

static void mix_watches(const struct watches *watches) {
    mix((uint64_t)watches->count << 32 | watches->unwanted_count);
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (const struct watch *watch = watches->buckets[i]; watch; watch = watch->next) {
            mix_text(watch->path);
            mix((uint64_t)watch->requests_out << 32 | watch->owners << 16 | watch->wants);
            mix((uint64_t)watch->state << 1 | watch->removing);
        }
    }
}

/* Mixes a session without its numbers, which only tell things apart. */
static void mix_zk(struct zkl_session *session, zkl_time now) {
    struct path *path = NULL;
    mix((uint64_t)session->state << 8 | session->parents);
    mix(session->common.last_nonce);
    mix(session->common.session);
    mix((uint64_t)session->newest_czxid);
    mix_clock(&session->common.clock, now);
    mix_time(session->due_since_tick, now);
    mix_time(session->last_beat_at, now);
    mix_time(session->busy_since, now);
    if (!world.setting.plain) mix(session->random);
    while ((path = zkl_path_next(session, path))) mix_path(path, now);
    for (int i = 0; i < OLD_BACKOFFS; i++)
        if (session->old_backoffs[i].path) mix_backoff(&session->old_backoffs[i].backoff, now);
    for (const struct stake *stake = session->stakes; stake; stake = stake->next)
        mix_stake(stake, now);
    for (const struct call *call = session->calls; call; call = call->next)
        mix_call(session, call, now);
    mix_watches(&session->watches);
}

static void mix_wish(const struct zkl_session *session, const struct wish *wish, zkl_time now) {
    mix((uint64_t)wish->doing << 16 | (uint64_t)wish->cancelled << 8 | wish->outlasted << 2 |
        wish->trying << 1 | wish->ended);
    mix((uint64_t)wish->kind << 32 | wish->signal << 1 | wish->all);
    mix((uint64_t)wish->saw);
    mix((uint64_t)wish->owner << 16 | (uint64_t)wish->verdict << 8 | wish->again << 1 | wish->away);
    mix_time(wish->deadline, now);
    mix_stakes(session, parts_of_wish(wish));
    if (wish->request) mix_request_of(session, wish->request, now);
    if (wish->doing_request) mix_request_of(session, wish->doing_request, now);
}

/* A small case has only guards. */
static void mix_deed(const struct zkl_session *session, const struct deed *deed, zkl_time now) {
    mix((uint64_t)deed->kind << 32 | deed->guard);
    mix((uint64_t)deed->cancelled);
    mix((uint64_t)deed->asked << 32 ^ (uint64_t)deed->seen);
    if (deed->request) mix_request_of(session, deed->request, now);
}

static void mix_shadow(const struct client *client, const struct stake *stake) {
    const struct shadow *shadow = shadow_of(client, &stake->claim);
    if (!shadow) return;
    mix((uint64_t)shadow->told << 1 | shadow->waiter_returned);
    mix((uint64_t)shadow->walked << 32 ^ shadow->walked_in);
}

static void mix_client(struct client *client) {
    zkl_time now = clock_of(client);
    mix((uint64_t)client->life << 8 | (uint64_t)(client->server + 1) << 4);
    mix((uint64_t)client->session << 8 | client->wished);
    mix((uint64_t)client->waited << 8 | client->signals);
    mix((uint64_t)client->deeds_done << 32 | client->late.guard);
    mix((uint64_t)client->last << 1 | client->expiring);
    mix_time(client->sent, world.now);
    mix_time(client->round, world.now);
    if (client->life == RUNS) mix_time(client_due(client), now);
    mix_time(client->proved, now);
    mix(client->late.count);
    for (unsigned i = 0; i < client->late.count; i++) mix_op(&client->late.ops[i]);
    if (client->late.count) mix_time(client->late.lands, world.now);
    for (int i = 0; i < LINES; i++)
        mix((uint64_t)client->shown[i] << 1 | client->children_changed[i]);
    mix_queue(&client->up, now, true);
    mix_queue(&client->down, now, false);
    if (!client->zk) return;
    mix_zk(client->zk, now);
    EACH_STAKE(client, stake) mix_shadow(client, stake);
    EACH_WISH(client, wish) mix_wish(client->zk, wish, now);
    EACH_DEED(client, deed) mix_deed(client->zk, deed, now);
}

bool fingerprint_seen(void) {
    hash = UINT64_C(0x9e3779b97f4a7c15);
    mix(world.faults);
    mix((uint64_t)world.zxid);
    mix_bytes(world.token, sizeof world.token);
    mix_bytes(world.read_token, sizeof world.read_token);
    mix_bytes(world.counted, sizeof world.counted);
    mix((uint64_t)world.counter);
    mix_bytes(world.paths, (size_t)world.path_count * sizeof *world.paths);
    EACH_NODE(node) mix_node(node);
    EACH_DATUM(datum) {
        mix((uint64_t)datum->watched << 16 | (uint64_t)datum->kept << 8 | datum->awaited);
        for (int i = 0; i < datum->count; i++)
            mix((uint64_t)datum->facts[i].at << 32 ^ datum->facts[i].word);
    }
    mix_bytes(world.children, sizeof world.children);
    mix_bytes(world.guards + 1, world.guard_count * sizeof *world.guards);
    mix_bytes(world.signals + 1, world.signal_count * sizeof *world.signals);
    for (unsigned i = 0; i < world.setting.servers; i++) {
        mix((uint64_t)world.servers[i].seen << 1 | world.servers[i].apart);
        mix_time(world.servers[i].report, world.now);
    }
    for (int i = 0; i < world.session_count; i++) {
        const struct session *session = &world.sessions[i];
        mix((uint64_t)session->timeout << 2 | session->alive << 1 | session->heard);
        mix_time(session->touched, world.now);
    }
    EACH_CLIENT(c) mix_client(c);
    if (set.count >= set.size / 2) grow();
    return !insert(hash | 1);
}
