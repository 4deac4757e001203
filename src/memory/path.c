/* path.c - see path.h. */
#include <stdint.h>
#include <string.h>

#include "path.h"

/* --- characters -------------------------------------------------------------------------- */

/* Reads a character, and moves *text behind it. 0: not one char in Java. */
static uint32_t next_character(const unsigned char **text) {
    const unsigned char *at = *text;
    int more = at[0] < 0x80 ? 0 : at[0] >= 0xc2 && at[0] < 0xe0 ? 1 : at[0] >> 4 == 0xe ? 2 : -1;
    if (more < 0) return 0;
    uint32_t character = more == 0 ? at[0] : at[0] & (0x3fU >> more);
    for (int i = 1; i <= more; i++) {
        if (at[i] >> 6 != 2) return 0;
        character = character << 6 | (at[i] & 0x3fU);
    }
    if (more == 2 && character < 0x800) return 0;
    *text = at + 1 + more;
    return character;
}

static bool may_be_in_name(uint32_t character) {
    return character > 0x1f && !(character >= 0x7f && character <= 0x9f) &&
           !(character >= 0xd800 && character <= 0xf8ff) && character < 0xfff0;
}

static bool has_valid_characters(const char *path) {
    const unsigned char *at = (const unsigned char *)path;
    while (*at) {
        if (!may_be_in_name(next_character(&at))) return false;
    }
    return true;
}

/* --- parts ------------------------------------------------------------------------------- */

static bool is_name(const char *part, size_t length) {
    if (length <= 2 && strspn(part, ".") >= length) return false; /* "", "." and ".." */
    return true;
}

static bool has_valid_parts(const char *path, bool sequential) {
    for (const char *part = path + 1;;) {
        size_t length = strcspn(part, "/");
        bool is_last = part[length] == '\0';
        if (!(is_last && sequential) && !is_name(part, length)) return false;
        if (is_last) return true;
        part += length + 1;
    }
}

bool zkl_node_path_is_valid(const char *path, bool sequential) {
    if (path[0] != '/') return false;
    if (path[1] == '\0') return true;
    return has_valid_parts(path, sequential) && has_valid_characters(path);
}
