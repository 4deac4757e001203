#include "follower.h"

#include "internal.h"

void zkl_follower_init(struct follower *follower, struct zkl_session *session,
                       const struct follower_class *class, void (*destroy)(struct asker *asker)) {
    *follower = (struct follower){
        .asker = {.destroy = destroy, .references = 1}, .session = session, .class = class};
}

void zkl_follower_enlist(struct follower *follower) {
    struct follower **first = &follower->session->followers[follower->class->kind];
    follower->asker.id = ++follower->session->last_id;
    follower->link = first;
    follower->next = *first;
    if (*first) (*first)->link = &follower->next;
    *first = follower;
}

void zkl_follower_unlist(struct follower *follower) {
    *follower->link = follower->next;
    if (follower->next) follower->next->link = follower->link;
    follower->link = NULL;
}

bool zkl_follower_may_ask(const struct follower *follower) {
    bool connected = follower->session->state == ZKL_SESSION_CONNECTED;
    return connected && follower->asker.calls == 0;
}
