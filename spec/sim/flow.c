#include "flow.h"

#include "rules.h"

/* Does all that a client can do now. False: nothing. */
static bool work_off(struct client *c, bool reconnect) {
    bool worked = false;
    if (reconnect && c->life == RUNS && network_can_connect(c, 0)) {
        network_connect(c, 0, TIMEOUT);
        worked = true;
    }
    for (int i = 0; i < 4 * QUEUE && (client_deliver(c) || network_carry(c)); i++) {
        rules_at_any_time();
        worked = true;
    }
    if (!client_is_due(c)) return worked;
    client_keep(c);
    return true;
}

void flow(bool reconnect) {
    bool worked = true;
    for (int rounds = 0; worked && !world.broken; rounds++) {
        worked = false;
        for (unsigned i = 1; i < world.setting.servers; i++)
            if (!world.servers[i].apart) server_see((int)i, world.zxid);
        EACH_CLIENT(c) worked = work_off(c, reconnect) || worked;
        rules_at_any_time();
        require(rounds < 500, "traffic comes to its end");
    }
}

static zkl_time next_due(zkl_time until) {
    EACH_RUNNING(c) {
        if (client_next_due(c) < until) until = client_next_due(c);
        if (client_round_due(c) < until) until = client_round_due(c);
    }
    return until;
}

void flow_pass(zkl_time time) {
    zkl_time until = world.now + time;
    while (world.now < until && !world.broken) {
        world_pass(next_due(until) - world.now);
        rules_at_any_time();
        flow(false);
    }
}
