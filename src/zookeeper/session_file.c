/*
 * session_file.c - see session_file.h.
 *
 * A file's text names its device, inode and boot, so that neither a copy nor another machine's file
 * fits, and its hosts and chroot, so that no other service's file fits. The last line shows that
 * the text is complete.
 */
#include "session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shell/linux.h"

#define SUFFIX ".session"

/* --- files of this process ------------------------------------------------------------------ */

/* Guards the list. Held from open() until the file is listed, so that no fork comes between. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct zkl_session_file *files;

static void before_fork(void) {
    pthread_mutex_lock(&mutex);
}

static void in_parent(void) {
    pthread_mutex_unlock(&mutex);
}

/* A child's copies of the descriptors would keep a dead parent's locks. */
static void in_child(void) {
    for (struct zkl_session_file *each = files; each; each = each->next) {
        close(each->fd);
        each->fd = -1;
    }
    files = NULL;
    pthread_mutex_init(&mutex, NULL);
}

static void prepare_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

static struct zkl_session_file *open_and_list(const char *folder, const char *name, int flags) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct zkl_session_file *file = calloc(1, sizeof *file);
    if (!file) return NULL;
    pthread_once(&once, prepare_forks);
    if (asprintf(&file->path, "%s/%s", folder, name) < 0) file->path = NULL;
    pthread_mutex_lock(&mutex);
    file->fd = file->path ? open(file->path, flags | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    int error = file->path ? errno : ENOMEM;
    if (file->fd >= 0) {
        file->next = files;
        file->slot = &files;
        if (files) files->slot = &file->next;
        files = file;
    }
    pthread_mutex_unlock(&mutex);
    if (file->fd >= 0) return file;
    free(file->path);
    free(file);
    errno = error;
    return NULL;
}

void zkl_session_file_leave(struct zkl_session_file *file) {
    if (!file) return;
    pthread_mutex_lock(&mutex);
    *file->slot = file->next;
    if (file->next) file->next->slot = file->slot;
    close(file->fd); /* releases the lock */
    pthread_mutex_unlock(&mutex);
    free(file->path);
    free(file);
}

/* Removes the name before the lock, so that no process finds the file unlocked. */
void zkl_session_file_remove(struct zkl_session_file *file) {
    if (file) unlink(file->path);
    zkl_session_file_leave(file);
}

/* --- the folder ----------------------------------------------------------------------------- */

int zkl_session_make_folder(const char *folder) {
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return errno;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = zkl_linux_check_file_system(fd);
    if (!error && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) != 0) error = errno;
    close(fd);
    return error;
}

/* --- text ----------------------------------------------------------------------------------- */

/* For free(). NULL: unknown boot, or no memory. */
static char *new_heading(const struct zkl_session_storage *storage, const struct stat *status) {
    char boot[ZKL_BOOT_SIZE], *text;
    if (!zkl_linux_boot_id(boot)) return NULL;
    int size = asprintf(&text, "device %ju\ninode %ju\nboot %s\nhosts %s\nchroot %s\n",
                        (uintmax_t)status->st_dev, (uintmax_t)status->st_ino, boot, storage->hosts,
                        storage->chroot);
    return size < 0 ? NULL : text;
}

#define HEX(size) ((size_t)2 * (size))
#define KEY_SIZE                                                                                   \
    (sizeof "id \npassword \nend\n" - 1 + HEX(sizeof(uint64_t)) + HEX(ZKL_PASSWORD_SIZE))

static void format_key(const struct zkl_session_key *key, char text[KEY_SIZE + 1]) {
    char *end = text + sprintf(text, "id %016jx\npassword ", (uintmax_t)key->id);
    for (size_t i = 0; i < ZKL_PASSWORD_SIZE; i++) end += sprintf(end, "%02x", key->password[i]);
    strcpy(end, "\nend\n");
}

static bool parse_key(const char *text, struct zkl_session_key *key) {
    char formatted[KEY_SIZE + 1];
    uintmax_t id;
    int position = 0;
    if (sscanf(text, "id %16jx\npassword %n", &id, &position) != 1 || !position) return false;
    key->id = id;
    for (size_t i = 0; i < ZKL_PASSWORD_SIZE; i++, position += 2) {
        if (sscanf(text + position, "%2hhx", &key->password[i]) != 1) return false;
    }
    format_key(key, formatted);
    return strcmp(text, formatted) == 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *text) {
    size_t size = strlen(text);
    ssize_t written = write(fd, text, size);
    if (written >= 0 && (size_t)written < size) errno = ENOSPC;
    return written >= 0 && (size_t)written == size;
}

static bool fill(const struct zkl_session_file *file, const struct zkl_session_storage *storage,
                 const struct stat *status) {
    char key[KEY_SIZE + 1], *head = new_heading(storage, status);
    format_key(&file->key, key);
    bool done = head && write_all(file->fd, head) && write_all(file->fd, key);
    free(head);
    return done;
}

static bool publish(struct zkl_session_file *file, const char *folder, const struct stat *status) {
    char *path;
    if (asprintf(&path, "%s/%016jx-%ju" SUFFIX, folder, (uintmax_t)file->key.id,
                 (uintmax_t)status->st_ino) < 0)
        return false;
    free(file->path);
    file->path = path;
    return zkl_linux_name(file->fd, path);
}

struct zkl_session_file *zkl_session_file_write(const struct zkl_session_storage *storage,
                                                const struct zkl_session_key *key) {
    struct stat status;
    int error = zkl_session_make_folder(storage->folder);
    struct zkl_session_file *file =
        error ? NULL : open_and_list(storage->folder, ".", zkl_linux_nameless);
    if (file) file->key = *key;
    if (file && fstat(file->fd, &status) == 0 && flock(file->fd, LOCK_EX | LOCK_NB) == 0 &&
        fill(file, storage, &status) && publish(file, storage->folder, &status))
        return file;
    if (!error) error = errno;
    zkl_session_file_leave(file);
    errno = error;
    return NULL;
}

/* --- reading -------------------------------------------------------------------------------- */

#define TEXT_MAX 65536

/* For free(). NULL: no memory, or an error. */
static char *read_text(int fd) {
    char *text = malloc(TEXT_MAX + 1);
    ssize_t size = text ? read(fd, text, TEXT_MAX) : -1;
    if (size >= 0) {
        text[size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

enum fit { UNKNOWN, UNFIT, FIT };

/* Reads the key, if the file fits the storage. */
static enum fit read_key(struct zkl_session_file *file, const struct zkl_session_storage *storage,
                         const struct stat *status) {
    char *text = read_text(file->fd), *head = new_heading(storage, status);
    size_t size = head ? strlen(head) : 0;
    enum fit fit = UNKNOWN;
    if (text && head)
        fit = strncmp(text, head, size) == 0 && parse_key(text + size, &file->key) ? FIT : UNFIT;
    free(text);
    free(head);
    return fit;
}

/* False: a process holds the file or just removed it, or it is no regular file of this user. */
static bool lock_if_dead(const struct zkl_session_file *file, struct stat *status) {
    return fstat(file->fd, status) == 0 && S_ISREG(status->st_mode) &&
           status->st_uid == geteuid() && flock(file->fd, LOCK_EX | LOCK_NB) == 0 &&
           fstat(file->fd, status) == 0 && status->st_nlink > 0;
}

struct zkl_session_file *zkl_session_file_adopt(const struct zkl_session_storage *storage,
                                                const char *name) {
    struct stat status;
    struct zkl_session_file *file = open_and_list(storage->folder, name, O_RDONLY | O_NONBLOCK);
    if (!file) return NULL;
    enum fit fit = lock_if_dead(file, &status) ? read_key(file, storage, &status) : UNKNOWN;
    if (fit == FIT) return file;
    if (fit == UNFIT) zkl_session_file_remove(file);
    else zkl_session_file_leave(file);
    return NULL;
}

static bool is_session_name(const char *name) {
    size_t size = strlen(name), suffix = strlen(SUFFIX);
    return size > suffix && strcmp(name + size - suffix, SUFFIX) == 0;
}

static void add_name(struct zkl_dead_file **list, const char *name) {
    struct zkl_dead_file *dead = malloc(sizeof *dead + strlen(name) + 1);
    if (!dead) return;
    strcpy(dead->name, name);
    dead->next = *list;
    *list = dead;
}

struct zkl_dead_file *zkl_session_list_dead(const struct zkl_session_storage *storage) {
    struct zkl_dead_file *list = NULL;
    DIR *directory = zkl_session_make_folder(storage->folder) ? NULL : opendir(storage->folder);
    if (!directory) return NULL;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct zkl_session_file *file = NULL;
        if (is_session_name(entry->d_name)) file = zkl_session_file_adopt(storage, entry->d_name);
        if (file) add_name(&list, entry->d_name);
        zkl_session_file_leave(file);
    }
    closedir(directory);
    return list;
}
