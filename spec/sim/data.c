/*
 * data.c - the users' nodes, which guards write, watchers watch and strangers change. Each state
 * since the beginning is kept, so a server's view needs only comparisons.
 */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

static const char *const paths[DATA] = {"/u/0", "/u/1"};

/* Begins a run, in which the first datum exists. */
void data_begin(void) {
    EACH_DATUM(datum) {
        datum->count = 1;
        datum->facts[0] = (struct fact){.at = 1, .born = 1, .word = datum == world.data ? 1 : 0};
    }
}

int datum_at(const char *path) {
    if (path[1] != 'u') return NOBODY;
    for (int i = 0; i < DATA; i++)
        if (strcmp(paths[i], path) == 0) return i;
    return NOBODY;
}

const char *datum_path(int datum) {
    return paths[datum];
}

const struct fact *fact_at(const struct datum *datum, zxid view) {
    int i = datum->count - 1;
    while (i > 0 && datum->facts[i].at > view) i--;
    return &datum->facts[i];
}

const struct fact *fact_now(const struct datum *datum) {
    return &datum->facts[datum->count - 1];
}

zxid fact_end(const struct datum *datum, const struct fact *fact) {
    return fact == fact_now(datum) ? NEVER : fact[1].at;
}

struct zkl_stat fact_stat(const struct fact *fact) {
    return (struct zkl_stat){.czxid = fact->born,
                             .mzxid = fact->at,
                             .version = fact->version,
                             .owner = id_of(fact->session - 1)};
}

const char *fact_text(const struct fact *fact, char text[WORD]) {
    snprintf(text, WORD, "%u", fact->word);
    return text;
}

/* --- writes ---------------------------------------------------------------------------------- */

int datum_test(int which, const struct zkl_op *op) {
    const struct fact *now = fact_now(&world.data[which]);
    if (op->kind == ZKL_OP_CREATE) return now->word ? ZKL_ERROR_NODE_EXISTS : ZKL_ERROR_NONE;
    if (!now->word) return ZKL_ERROR_NO_NODE;
    bool other = op->version != -1 && op->version != now->version;
    return other ? ZKL_ERROR_BAD_VERSION : ZKL_ERROR_NONE;
}

static unsigned word_of(const struct zkl_op *op) {
    char text[WORD] = "";
    if (op->size < WORD) memcpy(text, op->data, op->size);
    return (unsigned)strtoul(text, NULL, 10);
}

void datum_apply(int which, const struct zkl_op *op, int session, zxid at) {
    struct datum *datum = &world.data[which];
    struct fact fact = *fact_now(datum);
    if (op->kind == ZKL_OP_CHECK) return;
    require(datum->count < FACTS, "(the simulator is out of facts)");
    if (datum->count == FACTS) return;
    fact.version = op->kind == ZKL_OP_SET ? fact.version + 1 : 0;
    fact.word = op->kind == ZKL_OP_DELETE ? 0 : word_of(op);
    if (op->kind == ZKL_OP_CREATE) fact.born = at;
    if (op->kind == ZKL_OP_CREATE) fact.session = op->mode == ZKL_EPHEMERAL ? session + 1 : 0;
    if (op->kind == ZKL_OP_DELETE) fact.session = 0;
    fact.at = at;
    datum->facts[datum->count++] = fact;
}

void data_end_session(int session, zxid at) {
    static const struct zkl_op end = {.kind = ZKL_OP_DELETE, .version = -1};
    EACH_DATUM(datum) {
        if (fact_now(datum)->session == session + 1)
            datum_apply((int)(datum - world.data), &end, session, at);
    }
}

bool data_came_or_went(zxid since, zxid view) {
    EACH_DATUM(datum) {
        for (int i = 1; i < datum->count; i++) {
            const struct fact *fact = &datum->facts[i];
            bool other = !fact->word || fact->at == fact->born;
            if (other && fact->at > since && fact->at <= view) return true;
        }
    }
    return false;
}

/* --- watches --------------------------------------------------------------------------------- */

static int datum_item(const struct datum *datum) {
    return NODES + (int)(datum - world.data);
}

zxid data_next(zxid from, zxid otherwise) {
    EACH_DATUM(datum) {
        bool watched = datum->watched || world.children[FOLDER].watched;
        for (int i = 1; watched && i < datum->count; i++) {
            zxid at = datum->facts[i].at;
            if (at > from && at < otherwise) otherwise = at;
        }
    }
    return otherwise;
}

static enum item_kind item_kind_of(const struct fact *fact) {
    if (!fact->word) return DELETED;
    return fact->at == fact->born ? CREATED : CHANGED;
}

void data_tell(int server, zxid at) {
    EACH_DATUM(datum) {
        const struct fact *fact = fact_at(datum, at);
        if (datum->watched && fact->at == at)
            network_tell(server, &datum->watched, item_kind_of(fact), datum_item(datum), 0);
    }
}

/* As in DataTree.setWatches() and libzookeeper. */
void data_set_watches(struct client *client, zxid view) {
    uint8_t bit = bit_of(client);
    EACH_DATUM(datum) {
        const struct fact *fact = fact_at(datum, view);
        bool kept = datum->kept & bit, came = datum->awaited & bit && fact->word;
        bool other = kept && (!fact->word || fact->at > client->last);
        enum item_kind kind = !other ? CREATED : fact->word ? CHANGED : DELETED;
        if (other || came) network_push(client, kind, datum_item(datum), 0);
        else if (kept || datum->awaited & bit) datum->watched |= bit;
    }
}

void data_unwatch(const struct client *client, bool everywhere) {
    uint8_t others = (uint8_t)~bit_of(client);
    EACH_DATUM(datum) {
        datum->watched &= others;
        if (everywhere) datum->kept &= others;
        if (everywhere) datum->awaited &= others;
    }
}
