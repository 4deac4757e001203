/*
 * session_file.h - the id and the password of a session in a file of a folder, so that after a
 * crash the next process can end the session.
 *
 * Each file is under flock while the process lives that has the session: the kernel releases the
 * lock however the process ends, but not when it is merely stopped. A file that nobody locks is a
 * dead process's. A forked child closes the descriptors of its parent's files; it never unlocks
 * them. Any thread may call; a file belongs to one thread at a time.
 */
#ifndef ZKL_ZOOKEEPER_SESSION_FILE_H
#define ZKL_ZOOKEEPER_SESSION_FILE_H

#include <stdint.h>

#define ZKL_PASSWORD_SIZE 16

struct zkl_session_key {
    uint64_t id;
    unsigned char password[ZKL_PASSWORD_SIZE];
};

/* A process uses only files whose folder, hosts and chroot are its own. */
struct zkl_session_storage {
    char *folder, *hosts, *chroot;
};

struct zkl_session_file {
    struct zkl_session_key key;
    struct zkl_session_file *next; /* in the list of zkl_session_files_dead() */

    int fd; /* holds the lock; -1: the parent's file */
    char *path;
    struct zkl_session_file *other, **at; /* all files of this process; guarded in session_file.c */
};

/*
 * Makes the folder, mode 0700, if it is not there. 0, or an errno value; ENOTSUP: its file system
 * is none of those whose locks and inodes are known to be the same for all that have the folder.
 */
int zkl_session_folder(const char *folder);

/* Writes a file, which is locked and complete before it has a name. NULL with errno. */
struct zkl_session_file *zkl_session_file_write(const struct zkl_session_storage *storage,
                                                const struct zkl_session_key *key);

/* The files of dead processes, locked; unfit ones are removed. NULL: none. */
struct zkl_session_file *zkl_session_files_dead(const struct zkl_session_storage *storage);

/* Both free it. NULL is allowed. */
void zkl_session_file_remove(struct zkl_session_file *file);
void zkl_session_file_leave(struct zkl_session_file *file); /* unlocked, for the next process */

#endif
