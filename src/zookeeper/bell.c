/*
 * bell.c - wakes a host that can wait for sockets which it connected itself, and for no other
 * descriptor: nginx. The session listens for a moment on a unix socket, the host connects, and
 * from then on a byte on that connection says that the inbox is not empty.
 *
 * Nobody else may have that connection: the folder is the user's own, and the peer must be this
 * process. Both names are gone before the connection is looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

#define SOCKET_NAME "/bell"

void zkl_bell_init(struct zkl_session *session) {
    session->bell = session->door = -1;
}

void zkl_bell_ring(struct zkl_session *session) {
    if (session->bell < 0 || session->rung) return;
    session->rung = send(session->bell, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Also makes the names go. */
static void close_door(struct zkl_session *session) {
    if (session->door < 0) return;
    close(session->door);
    session->door = -1;
    unlink(session->door_path);
    session->door_path[strlen(session->door_path) - strlen(SOCKET_NAME)] = '\0';
    rmdir(session->door_path);
}

void zkl_bell_destroy(struct zkl_session *session) {
    close_door(session);
    if (session->bell >= 0) close(session->bell);
    session->bell = -1;
}

static int bind_and_listen(int socket, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(socket, (struct sockaddr *)&address, sizeof address) != 0) return errno;
    return listen(socket, 8) == 0 ? 0 : errno;
}

/* A folder that only this user can enter, and the socket in it. 0, or an errno value. */
static int open_door(struct zkl_session *session, const char *folder) {
    char *path = session->door_path;
    const size_t size = sizeof session->door_path;
    int length = snprintf(path, size, "%s/zklock-XXXXXX" SOCKET_NAME, folder);
    if (length < 0 || (size_t)length >= size) return ENAMETOOLONG;
    size_t end = (size_t)length - strlen(SOCKET_NAME);
    path[end] = '\0';
    if (!mkdtemp(path)) return errno;
    int error = 0;
    session->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (session->door < 0) {
        error = errno;
        rmdir(path);
        return error;
    }
    path[end] = *SOCKET_NAME;
    error = bind_and_listen(session->door, path);
    if (error) close_door(session);
    return error;
}

int zkl_session_listen(zkl_session *session, char path[ZKL_SOCKET_PATH]) {
    const char *folder = getenv("TMPDIR");
    zkl_lock(session);
    close_door(session);
    int error = folder && *folder ? open_door(session, folder) : ENOENT;
    if (error) error = open_door(session, "/tmp");
    if (!error) memcpy(path, session->door_path, ZKL_SOCKET_PATH);
    zkl_unlock(session);
    return error;
}

static bool is_own(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.pid == getpid();
}

/* The connection of this process among those that wait; -1: there is none. */
static int accept_own(int door) {
    int connection;
    while ((connection = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (is_own(connection)) return connection;
        close(connection);
    }
    return -1;
}

bool zkl_session_accept(zkl_session *session) {
    zkl_lock(session);
    int connection = session->door < 0 ? -1 : accept_own(session->door);
    close_door(session);
    if (connection >= 0) {
        if (session->bell >= 0) close(session->bell);
        session->bell = connection;
        session->rung = false;
    }
    zkl_unlock(session);
    return connection >= 0;
}

void zkl_session_heard(zkl_session *session) {
    zkl_lock(session);
    session->rung = false;
    zkl_unlock(session);
}

void zkl_session_poke(zkl_session *session) {
    zkl_lock(session);
    zkl_bell_ring(session);
    zkl_unlock(session);
}
