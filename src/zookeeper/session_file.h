/*
 * session_file.h - the id and password of a session in a file. After a crash the next process ends
 * the session.
 *
 * A process holds a flock on its session's file until the process ends, even while it is stopped.
 * So an unlocked file is a dead process's. A forked child closes its parent's descriptors and never
 * unlocks a file. Any thread may call; a file belongs to one thread at a time.
 */
#ifndef ZKL_ZOOKEEPER_SESSION_FILE_H
#define ZKL_ZOOKEEPER_SESSION_FILE_H

#include <stdint.h>

#define ZKL_PASSWORD_SIZE 16

struct zkl_session_key {
    uint64_t id;
    unsigned char password[ZKL_PASSWORD_SIZE];
};

/* A process uses only files with its folder, hosts and chroot. */
struct zkl_session_storage {
    char *folder, *hosts, *chroot;
};

struct zkl_session_file {
    struct zkl_session_key key;

    int fd; /* holds the lock; -1: the parent's file */
    char *path;
    struct zkl_session_file *next, **slot; /* list of this process's files (session_file.c) */
};

/*
 * Makes the folder, mode 0700, if missing. 0, or an errno value; ENOTSUP for file systems without
 * reliable locks and inodes.
 */
int zkl_session_make_folder(const char *folder);

/* Writes a file, locked and complete before it has a name. NULL with errno. */
struct zkl_session_file *zkl_session_file_write(const struct zkl_session_storage *storage,
                                                const struct zkl_session_key *key);

/* A dead process's file that fits the storage. A list holds names, as there may be many files. */
struct zkl_dead_file {
    struct zkl_dead_file *next;
    char name[];
};
struct zkl_dead_file *zkl_session_list_dead(const struct zkl_session_storage *storage);

/*
 * Locks such a file, or removes it if it does not fit. NULL also if another process holds the file
 * or has removed it, or it could not be read.
 */
struct zkl_session_file *zkl_session_file_adopt(const struct zkl_session_storage *storage,
                                                const char *name);

/* Both free `file`, if it is not NULL. */
void zkl_session_file_remove(struct zkl_session_file *file);
void zkl_session_file_leave(struct zkl_session_file *file); /* unlocked, for the next process */

#endif
