#include "room.h"
#include "internal.h"

bool zkl_room_fits_nodes(const struct zkl_session *session, size_t bytes) {
    size_t there = session->node_bytes - session->leaving_bytes;
    return there + bytes <= ZKL_PATHS_MAX;
}

bool zkl_room_fits_watches(const struct zkl_session *session, size_t bytes) {
    return bytes == 0 || session->watches.bytes + bytes <= ZKL_WATCHES_MAX;
}

bool zkl_room_make_for_nodes(struct zkl_session *session, size_t bytes) {
    if (!zkl_room_fits_nodes(session, bytes)) session->yielding->nodes(session, bytes);
    return zkl_room_fits_nodes(session, bytes);
}

bool zkl_room_make_for_watches(struct zkl_session *session, enum zkl_room most, size_t bytes) {
    bool connected = session->state == ZKL_SESSION_CONNECTED;
    if (connected && !zkl_room_fits_watches(session, bytes)) {
        for (enum zkl_room each = ROOM_FREE; each <= most; each++)
            session->yielding->watches[each](session, bytes);
    }
    return zkl_room_fits_watches(session, bytes);
}

bool zkl_room_is_coming(const struct zkl_session *session) {
    return session->watches.leaving_count > 0;
}
