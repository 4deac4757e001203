#include "fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* --- the set of those seen ---------------------------------------------------------- */

static struct {
    uint64_t *slots; /* 0: empty */
    uint64_t size, count;
} set;

static bool insert(uint64_t print) {
    uint64_t at = print & (set.size - 1);
    while (set.slots[at] && set.slots[at] != print) at = (at + 1) & (set.size - 1);
    if (set.slots[at]) return false;
    set.slots[at] = print;
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

/* --- what a state consists of ------------------------------------------------------- */

static uint64_t print;

static void mix(uint64_t value) {
    print = (print ^ value) * UINT64_C(0xff51afd7ed558ccd);
    print ^= print >> 32;
}

static void mix_text(const char *text) {
    for (; *text; text++) mix((uint8_t)*text);
    mix(256);
}

/* Times count from now, so that the same situation later is the same. */
static void mix_time(zkl_time time, zkl_time now) {
    mix(time == ZKL_NEVER ? 1 : (uint64_t)(time - now));
}

static void mix_node(const struct node *node) {
    mix_text(node->name);
    mix((uint64_t)node->born);
    mix((uint64_t)node->died);
    mix((uint64_t)node->changed);
    mix((uint64_t)node->signal);
    mix((uint64_t)node->grants);
    mix((uint64_t)node->session << 1 | (uint64_t)node->line);
    mix((uint64_t)(node->watched << 8 | node->kept) << 2 | node->robbed << 1 | node->late);
}

static void mix_item(const struct item *item, zkl_time now) {
    mix((uint64_t)item->what << 8 | item->reply << 4 | item->second << 3 | item->unchanged << 2 |
        item->taken << 1 | item->arrived);
    mix((uint64_t)item->czxid);
    mix((uint64_t)item->wish << 32 ^ (uint64_t)item->node);
    mix((uint64_t)item->view);
    mix((uint64_t)item->changed);
    mix_time(item->issued, now);
    mix((uint64_t)item->line);
    mix_text(item->name);
    mix_text(item->other);
    if (item->contender) mix_text(item->contender->name);
}

static void mix_queue(struct queue *queue, zkl_time now) {
    mix(queue->count);
    for (unsigned i = 0; i < queue->count; i++) mix_item(queue_at(queue, i), now);
}

static void mix_claim(const struct zkl_claim *claim, zkl_time now) {
    mix((uint64_t)claim->state << 16 | (uint64_t)claim->code << 8 | claim->refusal);
    mix(claim->kind);
    mix((uint64_t)(claim->wanted | claim->stalled << 1 | claim->doubted << 2 |
                   claim->announced << 3 | claim->own_watched << 4 | claim->unsettled << 5 |
                   claim->pausing << 6 | claim->unsent << 7 | claim->waits << 8 | claim->left << 9 |
                   claim->settled << 10 | claim->heir << 11));
    mix((uint64_t)(uint32_t)claim->batch << 32 | (uint32_t)claim->served);
    mix((uint64_t)(uint32_t)claim->permits << 32 | (uint32_t)claim->limit);
    mix((uint64_t)claim->heard << 3 | (uint64_t)claim->found << 2 | claim->heading << 1 |
        claim->unseen);
    mix((uint64_t)claim->czxid);
    mix((uint64_t)claim->listed << 32 | claim->ranks);
    mix((uint64_t)claim->headed << 1 | claim->recheck);
    mix(claim->rounds);
    mix((uint64_t)claim->epoch);
    mix_time(claim->deadline, now);
    mix_text(claim->name);
    if (claim->ahead) mix_text(claim->ahead->name);
}

static void mix_line(const struct zkl_line *line) {
    mix((uint64_t)(line->exhausted | line->incomplete << 1 | line->opened << 2));
    mix(line->serial);
    for (size_t i = 0; i < line->count; i++) {
        mix_text(line->contenders[i]->name);
        mix((uint64_t)line->contenders[i]->czxid << 1 | line->contenders[i]->claimed);
    }
}

static void mix_clock(const struct zkl_clock *clock, zkl_time now) {
    mix((uint64_t)clock->timeout << 1 | clock->connected);
    mix_time(clock->proof, now);
    mix_time(clock->steady_since, now);
    mix_time(clock->certain, now);
    mix_time(clock->attended, now);
    mix_time(clock->awake_since, now);
    mix(clock->epoch);
}

static void mix_client(struct client *client) {
    zkl_time now = clock_of(client);
    mix((uint64_t)client->life << 8 | (uint64_t)(client->server + 1) << 4);
    mix((uint64_t)client->session << 8 | client->wished);
    mix((uint64_t)client->waited << 8 | client->signals);
    mix((uint64_t)client->last);
    mix(client->party.nonces);
    mix(client->party.session);
    mix_time(client->sent, world.now);
    mix_time(client->beat, now);
    mix_time(client->look, now);
    mix_text(client->late);
    mix_text(client->late_other);
    if (client->late[0]) mix_time(client->lands, world.now);
    for (int i = 0; i < LINES; i++) mix((uint64_t)client->shown[i] << 1 | client->expiring);
    for (int i = 0; i < LINES; i++) mix(client->lists[i]);
    mix_time(client->proved, now);
    mix_clock(&client->party.clock, now);
    mix_queue(&client->up, now);
    mix_queue(&client->down, now);
    EACH_LINE(client, line) mix_line(line);
    EACH_WISH(client, wish) {
        mix((uint64_t)(wish - client->wishes) << 8 | wish->gone << 4 | wish->granted << 3 |
            wish->failed << 2 | wish->lost << 1 | wish->given_up);
        mix((uint64_t)wish->taken << 3 | wish->away << 2 | wish->ended << 1 | wish->joint);
        if (!wish->gone) mix((uint64_t)line_of(client, &wish->claim));
        mix_time(wish->wake, now);
        mix(wish->out);
        mix((uint64_t)wish->told);
        mix((uint64_t)wish->walked << 32 ^ wish->walked_in);
        if (!wish->gone) mix_claim(&wish->claim, now);
    }
}

static void mix_session(const struct session *session) {
    mix((uint64_t)session->alive << 1 | session->heard);
    mix((uint64_t)session->timeout);
    mix_time(session->touched, world.now);
}

bool fingerprint_seen(void) {
    print = UINT64_C(0x9e3779b97f4a7c15);
    mix(world.faults);
    mix((uint64_t)world.zxid);
    for (int i = 0; i < LINES; i++)
        mix((uint64_t)world.token[i] << 32 ^ (uint64_t)world.read_token[i]);
    mix((uint64_t)world.counter);
    for (int i = 0; i < world.path_count; i++) mix((uint64_t)world.paths[i].died);
    EACH_NODE(node) mix_node(node);
    for (unsigned i = 0; i < world.setting.servers; i++) {
        mix((uint64_t)world.servers[i].seen << 1 | world.servers[i].apart);
        mix_time(world.servers[i].report, world.now);
    }
    for (int i = 0; i < world.session_count; i++) mix_session(&world.sessions[i]);
    EACH_CLIENT(c) mix_client(c);
    if (set.count >= set.size / 2) grow();
    return !insert(print | 1);
}
