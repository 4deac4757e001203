#include "line.h"

#include <stdlib.h>
#include <string.h>

#include "claim_state.h"

/* --- contenders ----------------------------------------------------------------------- */

struct zkl_contender *zkl_contender_ref(struct zkl_contender *contender) {
    contender->references++;
    return contender;
}

void zkl_contender_unref(struct zkl_contender *contender) {
    if (contender && --contender->references == 0) free(contender);
}

static struct zkl_contender *contender_new(const char *text, const struct zkl_name *name,
                                           uint32_t serial) {
    size_t size = strlen(text) + 1;
    struct zkl_contender *contender = calloc(1, sizeof *contender + size);
    if (!contender) return NULL;
    bool may_be_ours = size <= ZKL_NAME_SIZE;
    contender->session = may_be_ours ? name->session : 0;
    contender->nonce = may_be_ours ? name->nonce : 0;
    contender->sequence = name->sequence;
    contender->permits = name->permits;
    contender->limit = name->limit;
    contender->kind = name->kind;
    contender->reuse = may_be_ours ? name->reuse : ZKL_ONE_GRANT;
    contender->first_list = serial;
    contender->references = 1;
    memcpy(contender->name, text, size);
    return contender;
}

static int compare(int32_t sequence, const char *name, const struct zkl_contender *other) {
    if (sequence != other->sequence) return sequence < other->sequence ? -1 : 1;
    return strcmp(name, other->name);
}

static int compare_contenders(const void *a, const void *b) {
    const struct zkl_contender *left = *(struct zkl_contender *const *)a;
    return compare(left->sequence, left->name, *(struct zkl_contender *const *)b);
}

/* --- the list ------------------------------------------------------------------------- */

/* The index of a name, or where it would be inserted. */
static size_t index_of(const struct zkl_line *line, int32_t sequence, const char *name) {
    size_t low = 0, high = line->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(sequence, name, line->contenders[middle]) > 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct zkl_contender *find(const struct zkl_line *line, int32_t sequence, const char *name) {
    size_t at = index_of(line, sequence, name);
    if (at == line->count || strcmp(line->contenders[at]->name, name) != 0) return NULL;
    return line->contenders[at];
}

struct zkl_contender *zkl_line_find(const struct zkl_line *line, const char *name) {
    struct zkl_name parsed;
    return zkl_name_parse(name, &parsed) ? find(line, parsed.sequence, name) : NULL;
}

struct zkl_contender *zkl_line_own(const struct zkl_claim *claim) {
    return find(claim->line, claim->node.sequence, claim->node.name);
}

struct zkl_contender *zkl_line_find_nonce(const struct zkl_line *line, uint64_t nonce) {
    for (size_t i = 0; i < line->count; i++) {
        struct zkl_contender *contender = line->contenders[i];
        if (zkl_line_is_own(line, contender) && contender->nonce == nonce) return contender;
    }
    return NULL;
}

/*
 * Numbers tell the order while each is in range and no two are equal. But a reader may carry the
 * number of a writer, after a downgrade.
 */
static bool numbers_exhausted(const struct zkl_line *line) {
    size_t readers = 0, others = 0; /* contenders with the present number */
    for (size_t i = 0; i < line->count; i++) {
        const struct zkl_contender *each = line->contenders[i];
        if (zkl_sequence_exhausted(each->sequence)) return true;
        if (i > 0 && line->contenders[i - 1]->sequence != each->sequence) readers = others = 0;
        if (each->kind == ZKL_READ) readers++;
        else others++;
        if (readers > 1 || others > 1) return true;
    }
    return false;
}

static bool is_claimed(const struct zkl_line *line, const struct zkl_contender *contender) {
    if (!zkl_line_is_own(line, contender)) return false;
    for (const struct zkl_claim *claim = line->claims; claim; claim = claim->next) {
        if (claim->node.nonce == contender->nonce && claim->state != ZKL_GONE) return true;
    }
    return false;
}

static bool collect(struct zkl_line *line, struct zkl_contender **list, size_t *filled,
                    const char *const *names, size_t count) {
    struct zkl_name parsed;
    for (size_t i = 0; i < count; i++) {
        if (!zkl_name_parse(names[i], &parsed)) continue;
        struct zkl_contender *contender = find(line, parsed.sequence, names[i]);
        if (contender) zkl_contender_ref(contender);
        else contender = contender_new(names[i], &parsed, line->serial + 1);
        if (!contender) return false;
        list[(*filled)++] = contender;
    }
    return true;
}

static void drop_all(struct zkl_contender **list, size_t count) {
    for (size_t i = 0; i < count; i++) zkl_contender_unref(list[i]);
    free(list);
}

/* In the sorted list equal names are neighbours. */
static size_t drop_repeated(struct zkl_contender **list, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && strcmp(list[kept - 1]->name, list[i]->name) == 0)
            zkl_contender_unref(list[i]);
        else list[kept++] = list[i];
    }
    return kept;
}

bool zkl_line_replace(struct zkl_line *line, const char *const *names, size_t count) {
    struct zkl_contender **list = calloc(count + 1, sizeof(struct zkl_contender *));
    size_t filled = 0;
    if (!list) return false;
    if (!collect(line, list, &filled, names, count)) {
        drop_all(list, filled);
        return false;
    }
    qsort(list, filled, sizeof(struct zkl_contender *), compare_contenders);
    filled = drop_repeated(list, filled);
    for (size_t i = 0; i < line->count; i++) line->contenders[i]->listed = false;
    for (size_t i = 0; i < filled; i++) {
        list[i]->listed = true;
        if (list[i]->first_list > line->serial) list[i]->claimed = is_claimed(line, list[i]);
    }
    drop_all(line->contenders, line->count);
    line->contenders = list;
    line->count = filled;
    if (++line->serial == 0) line->serial = 1; /* 0: no list */
    line->exhausted = numbers_exhausted(line);
    line->incomplete = false;
    return true;
}

void zkl_line_forget(struct zkl_line *line, struct zkl_contender *contender) {
    if (!contender->listed) return;
    size_t at = index_of(line, contender->sequence, contender->name);
    line->count--;
    memmove(line->contenders + at, line->contenders + at + 1,
            (line->count - at) * sizeof(struct zkl_contender *));
    contender->listed = false;
    if (contender->kind == ZKL_WRITE) line->incomplete = true;
    zkl_contender_unref(contender);
}

void zkl_line_clear(struct zkl_line *line) {
    for (size_t i = 0; i < line->count; i++) line->contenders[i]->listed = false;
    drop_all(line->contenders, line->count);
    line->contenders = NULL;
    line->count = 0;
    line->path_exists = line->changed = false;
}

/* --- the order ------------------------------------------------------------------------ */

/* False, too, while the contender's czxid is not known. */
static bool has_smaller_czxid(const struct zkl_claim *claim,
                              const struct zkl_contender *contender) {
    return contender->czxid != 0 && contender->czxid < claim->node.czxid;
}

static bool is_unranked(const struct zkl_line *line, const struct zkl_claim *claim,
                        const struct zkl_contender *contender) {
    if (line->exhausted && contender->czxid == 0)
        return contender->first_list <= claim->node.list_serial;
    return claim->recheck && contender != claim->ahead &&
           zkl_kinds_exclude(claim->kind, contender->kind) &&
           zkl_line_precedes(line, contender, claim);
}

struct zkl_contender *zkl_line_unranked(const struct zkl_line *line, const struct zkl_claim *claim,
                                        const struct zkl_contender *after) {
    size_t end = line->exhausted ? line->count : 0;
    if (claim->recheck && !line->exhausted) end = index_of(line, claim->node.sequence, "");
    for (size_t i = 0; i < end; i++) {
        struct zkl_contender *contender = line->contenders[i];
        if (after) {
            if (contender == after) after = NULL;
        } else if (is_unranked(line, claim, contender)) {
            return contender;
        }
    }
    return NULL;
}

struct zkl_contender *zkl_line_ahead(const struct zkl_line *line, const struct zkl_claim *claim) {
    struct zkl_contender *nearest = NULL;
    if (!line->exhausted) {
        size_t at = index_of(line, claim->node.sequence, "");
        while (at > 0 && !zkl_kinds_exclude(claim->kind, line->contenders[at - 1]->kind)) at--;
        return at ? line->contenders[at - 1] : NULL;
    }
    for (size_t i = 0; i < line->count; i++) {
        struct zkl_contender *contender = line->contenders[i];
        if (!has_smaller_czxid(claim, contender)) continue;
        if (!zkl_kinds_exclude(claim->kind, contender->kind)) continue;
        if (!nearest || contender->czxid > nearest->czxid) nearest = contender;
    }
    return nearest;
}

struct zkl_contender *zkl_line_ahead_of(const struct zkl_line *line,
                                        const struct zkl_contender *contender) {
    size_t at = line->exhausted ? 0 : index_of(line, contender->sequence, contender->name);
    while (at > 0 && !zkl_kinds_exclude(contender->kind, line->contenders[at - 1]->kind)) at--;
    return at ? line->contenders[at - 1] : NULL;
}

bool zkl_line_precedes(const struct zkl_line *line, const struct zkl_contender *contender,
                       const struct zkl_claim *claim) {
    if (line->exhausted) return has_smaller_czxid(claim, contender);
    return contender->sequence < claim->node.sequence;
}

bool zkl_line_is_free(const struct zkl_line *line, enum zkl_kind kind) {
    for (size_t i = 0; i < line->count; i++) {
        if (zkl_kinds_exclude(kind, line->contenders[i]->kind)) return false;
    }
    return true;
}

size_t zkl_line_count_ahead(const struct zkl_line *line, const struct zkl_claim *claim) {
    size_t ahead = 0;
    if (!line->exhausted) return index_of(line, claim->node.sequence, "");
    for (size_t i = 0; i < line->count; i++) ahead += has_smaller_czxid(claim, line->contenders[i]);
    return ahead;
}

bool zkl_line_may_have_others(const struct zkl_line *line) {
    for (size_t i = 0; i < line->count && !line->changed; i++) {
        if (!zkl_line_is_own(line, line->contenders[i])) return true;
    }
    return line->changed;
}

struct zkl_contender *zkl_line_first_keepable(const struct zkl_line *line) {
    struct zkl_contender *first = line->count && !line->exhausted ? line->contenders[0] : NULL;
    if (!first || first->reuse != ZKL_MAY_BE_KEPT) return NULL;
    return zkl_line_is_own(line, first) ? NULL : first;
}

struct zkl_contender *zkl_line_orphan(const struct zkl_line *line) {
    /* Without a session every name without a uuid would match. */
    if (line->common->session == 0) return NULL;
    for (size_t i = 0; i < line->count; i++) {
        struct zkl_contender *contender = line->contenders[i];
        if (zkl_line_is_own(line, contender) && !contender->claimed) return contender;
    }
    return NULL;
}
