#include "setting.h"

#include <string.h>

#include "data.h"
#include "moves.h"
#include "story.h"
#include "trace.h"

/* --- small cases -------------------------------------------------------------------- */

enum { SMALL_STEPS = 60 };

#define BIT(move) (UINT64_C(1) << (move))
#define TIMELESS                                                                                   \
    (BIT(MOVE_CARRY) | BIT(MOVE_DELIVER) | BIT(MOVE_SEE) | BIT(MOVE_CONNECT) | BIT(MOVE_WISH) |    \
     BIT(MOVE_RELEASE))
#define ALWAYS (TIMELESS | BIT(MOVE_KEEP) | BIT(MOVE_PASS))

static const struct small {
    const char *name, *what;
    enum mix mix;
    unsigned clients, servers, wishes, faults;
    uint64_t moves;
    int32_t batch;  /* for turns; else 0 */
    unsigned fewer; /* wishes of the first client alone */
} smalls[] = {
    {"calm", "2 clients, no fault but two passages of time", MIX_MUTEX, 2, 1, 1, 2, ALWAYS, 0, 0},
    {"cut", "2 clients, one cut or passage of time", MIX_MUTEX, 2, 1, 1, 1,
     ALWAYS | BIT(MOVE_SEVER), 0, 0},
    {"cancel", "2 clients, one cut, passage of time or change of mind", MIX_MUTEX, 2, 1, 1, 1,
     ALWAYS | BIT(MOVE_SEVER) | BIT(MOVE_CANCEL), 0, 0},
    {"expire", "2 clients, one expiry, cut or passage of time", MIX_MUTEX, 2, 1, 1, 1,
     ALWAYS | BIT(MOVE_SEVER) | BIT(MOVE_EXPIRE), 0, 0},
    {"follower", "2 clients, a follower that lags, one fault", MIX_MUTEX, 2, 2, 1, 1,
     ALWAYS | BIT(MOVE_SEVER) | BIT(MOVE_APART) | BIT(MOVE_REJOIN), 0, 0},
    {"rob", "2 clients, one node deleted or changed by a stranger", MIX_MUTEX, 2, 1, 1, 1,
     ALWAYS | BIT(MOVE_ROB) | BIT(MOVE_CHANGE) | BIT(MOVE_CLEAR), 0, 0},
    {"downgrade", "a writer that becomes a reader, one behind it; two cuts", MIX_DOWNGRADE, 2, 1, 1,
     2, TIMELESS | BIT(MOVE_SEVER) | BIT(MOVE_DOWNGRADE), 0, 0},
    {"unfair", "2 clients without an order, two cuts or passages of time", MIX_UNFAIR, 2, 1, 1, 2,
     ALWAYS | BIT(MOVE_SEVER), 0, 0},
    {"multi", "2 clients that want two paths at once; one cut", MIX_MULTI, 2, 1, 1, 1,
     TIMELESS | BIT(MOVE_SEVER), 0, 0},
    {"permits", "one wants both permits, two want one each; no fault", MIX_PERMITS, 3, 1, 1, 0,
     TIMELESS, 0, 0},
    {"turns", "one client with 2 wishes, one with 1, handed on; one cut or change of mind",
     MIX_TURNS, 2, 1, 2, 1, TIMELESS | BIT(MOVE_SEVER) | BIT(MOVE_CANCEL), 2, 1},
    {"batch", "2 clients with 2 wishes each, handed on if nobody else waits; no fault", MIX_TURNS,
     2, 1, 2, 0, TIMELESS, 1, 0},
    {"renewal", "one client with 4 wishes, handed on until its node is used up; one cut", MIX_TURNS,
     1, 1, 4, 1, TIMELESS | BIT(MOVE_SEVER), 1, 0},
    {"kept", "2 clients, whose nodes are kept; one cut", MIX_KEPT, 2, 1, 1, 1,
     TIMELESS | BIT(MOVE_SEVER), 0, 0},
    {"kept-again", "one client with 2 wishes, whose node is kept; 2 cuts or passages of time",
     MIX_KEPT, 1, 1, 2, 2, ALWAYS | BIT(MOVE_SEVER), 0, 0},
    {"signal", "one waits in the condition, one signals it; one cut or change of mind",
     MIX_CONDITION, 2, 1, 1, 1,
     TIMELESS | BIT(MOVE_SEVER) | BIT(MOVE_CANCEL) | BIT(MOVE_WAIT) | BIT(MOVE_SIGNAL), 0, 0},
    {"owner", "2 users of one owner, who enters again; one cut or interrupt", MIX_MUTEX, 1, 1, 3, 1,
     TIMELESS | BIT(MOVE_SEVER) | BIT(MOVE_INTERRUPT), 0, 0},
    {"guard", "2 clients that write with their leases; one cut", MIX_MUTEX, 2, 1, 1, 1,
     TIMELESS | BIT(MOVE_SEVER) | BIT(MOVE_DEED), 0, 0},
};

enum { SMALLS = sizeof smalls / sizeof *smalls };

const char *setting_small_name(unsigned i, const char **what) {
    if (i >= SMALLS) return NULL;
    *what = smalls[i].what;
    return smalls[i].name;
}

/* A run's first choice selects a small case; 0: none. */
bool setting_small(const char *name, struct tape *pinned) {
    for (unsigned i = 0; i < SMALLS; i++) {
        if (strcmp(smalls[i].name, name) != 0) continue;
        pinned->choices[0] = (uint8_t)(i + 1);
        pinned->length = 1;
        return true;
    }
    return false;
}

static void set_small(const struct small *small) {
    world.setting = (struct setting){.clients = small->clients,
                                     .servers = small->servers,
                                     .wishes = small->wishes,
                                     .faults = small->faults,
                                     .moves = small->moves,
                                     .owners = small->moves & BIT(MOVE_INTERRUPT) ? 1 : 0,
                                     .deeds = BIT(DEED_GUARD),
                                     .mix = small->mix,
                                     .limit = small->mix == MIX_PERMITS ? 2 : 0,
                                     .batch = small->batch,
                                     .fewer = small->fewer,
                                     .steps = SMALL_STEPS,
                                     .tick = TIMEOUT / 2,
                                     .plain = true};
}

/* --- any kind ----------------------------------------------------------------------- */

static void set_session(struct setting *setting) {
    if (choose(6) == 5) {
        setting->owners = 1 + choose(2);
        setting->wishes = 2 + choose(3);
        setting->moves |= BIT(MOVE_INTERRUPT) | BIT(MOVE_RELEASE_ALL);
    }
    if (choose(12) == 11) {
        setting->room = choose(2) ? 1 + choose(2) : 3 + choose(4);
        setting->wishes = 4;
    }
    setting->lingers = choose(6) == 5;
    setting->limits = choose(4) == 3;
    if (setting->limits) setting->moves |= BIT(MOVE_HOLD);
}

static void set_pace(struct setting *setting) {
    static const zkl_time ticks[] = {TIMEOUT / 2, TIMEOUT / 5 * 2, TIMEOUT / 7 * 2};
    setting->brisk = choose(3) == 2;
    setting->tick = ticks[choose(3)];
    setting->grace = choose(3) == 2;
}

static void set_any(void) {
    struct setting setting = {.moves = ALWAYS | BIT(MOVE_CANCEL) | BIT(MOVE_CLOSE) |
                                       BIT(MOVE_DOWNGRADE) | BIT(MOVE_YIELD) | BIT(MOVE_WAIT) |
                                       BIT(MOVE_SIGNAL) | BIT(MOVE_DEED),
                              .faults = UNLIMITED};
    static const unsigned clients[] = {2, 3, 2, 1, 4, 3, 2, 8}, servers[] = {1, 2, 3};
    static const enum mix mixes[] = {MIX_MUTEX,     MIX_READ_WRITE, MIX_ALL,    MIX_READ_WRITE,
                                     MIX_PERMITS,   MIX_QUARREL,    MIX_UNFAIR, MIX_MULTI,
                                     MIX_CONDITION, MIX_CONDITION,  MIX_TURNS,  MIX_TURNS,
                                     MIX_KEPT,      MIX_KEPT};
    setting.clients = clients[choose(8)];
    setting.servers = servers[choose(3)];
    setting.wishes = 1 + choose(4);
    setting.steps = 12 + choose(120);
    for (unsigned move = FIRST_FAULT; move < MOVES; move++)
        setting.moves |= (uint64_t)choose(2) << move;
    if (setting.moves & BIT(MOVE_SEVER)) setting.moves |= BIT(MOVE_LAND);
    if (setting.moves & BIT(MOVE_STOP)) setting.moves |= BIT(MOVE_CONTINUE);
    if (setting.moves & BIT(MOVE_APART)) setting.moves |= BIT(MOVE_REJOIN);
    if (setting.moves & BIT(MOVE_ENTER)) setting.moves |= BIT(MOVE_LEAVE);
    setting.mix = mixes[choose(sizeof mixes / sizeof *mixes)];
    if (setting.mix >= MIX_PERMITS) setting.limit = 1 + (int32_t)choose(4);
    set_pace(&setting);
    setting.refusals = choose(8) == 7;
    setting.wild = choose(16) == 15;
    setting.downgrades = choose(2);
    set_session(&setting);
    if (choose(4) == 3) setting.deeds = choose(BIT(DEED_JOIN));
    if (setting.deeds && choose(2)) setting.deeds |= choose(4) << DEED_JOIN;
    if (setting.deeds & BIT(DEED_JOIN)) setting.deeds |= BIT(DEED_SET);
    setting.shortage = choose(20) == 19;
    setting.lazy = choose(2);
    setting.boot = choose(4) == 3;
    if (!setting.refusals && !setting.room && !setting.wild) setting.bursts = choose(5);
    world.setting = setting;
}

/* The scope of proof/tla/Lock.tla: plain mutexes, a wish of a client at a time, one server. */
static void set_traced(void) {
    struct setting setting = {.moves = ALWAYS | BIT(MOVE_CANCEL),
                              .servers = 1,
                              .wishes = 1,
                              .mix = MIX_MUTEX,
                              .faults = UNLIMITED};
    setting.clients = 2 + choose(4);
    setting.steps = 40 + choose(160);
    set_pace(&setting);
    setting.lazy = choose(2);
    if (choose(4)) setting.moves |= BIT(MOVE_SEVER) | BIT(MOVE_LAND);
    if (choose(2)) setting.moves |= BIT(MOVE_STOP) | BIT(MOVE_CONTINUE);
    if (choose(4) == 3) setting.moves |= BIT(MOVE_KILL);
    world.setting = setting;
}

static void set_clock(struct client *c) {
    static const int rates[] = {1000, 950, 1050}, wild[] = {1000, 500, 2500};
    unsigned which = world.setting.plain ? 0 : choose(3);
    c->rate = world.setting.wild ? wild[which] : rates[which];
    c->offset = world.setting.boot ? 0 : index_of(c) * 12345 * ZKL_SECOND;
}

static void connect_all(void) {
    EACH_CLIENT(c) {
        c->session = c->server = NOBODY;
        if (!world.setting.plain || index_of(c) == 0) set_clock(c);
        else c->rate = 1000;
        c->mutexes = !world.setting.plain && choose(2);
        client_begin(c);
        network_connect(c, index_of(c) % (int)world.setting.servers, TIMEOUT);
        client_deliver(c);
    }
}

/* Every fourth run is near the counter's end (seed Q-02). */
void setting_choose(void) {
    static const unsigned odds[SMALLS + 1] = {60, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1,  1, 1, 1, 1, 1, 1, 1, 1};
    unsigned which = trace_written ? 0 : choose_weighted(odds, SMALLS + 1);
    bool any = !which && !trace_written;
    if (which) set_small(&smalls[which - 1]);
    else if (any) set_any();
    else set_traced();
    world_begin();
    if (!any || choose(2)) path_make();
    if (any && choose(4) == 3) {
        world.counter = INT32_MAX - (int32_t)choose(6);
        world.setting.downgrades = false;
    }
    data_begin();
    connect_all();
}
