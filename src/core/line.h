/*
 * line.h - the line of contenders at one lock path, as this session knows it.
 *
 * One line serves all claims of the session on the path: the list of names is stored once, however
 * many claims wait. It is the newest list the server gave, less what was seen to be gone since.
 * That is enough for every claim, for ever: numbers and czxids only grow, so each contender ahead
 * of a claim was in the list that came with its own creation, and in every newer one while alive.
 *
 * Order: by number while every number says something; once one of them is
 * exhausted (name.h) or two are equal, by czxid, which is then asked for. A
 * contender first listed after a claim's own list is behind that claim, so its
 * czxid need not be known.
 *
 * Ownership: the line owns its contenders; a claim that waits for one has a reference to it, and so
 * has a request about one. The owner of the line serialises calls.
 */
#ifndef ZKL_LINE_H
#define ZKL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "name.h"

struct zkl_contender {
    int64_t czxid;    /* 0: not known yet */
    uint64_t session; /* of the name's uuid; 0 when it has none, or is longer than ours are */
    uint64_t nonce;
    uint32_t seen; /* serial of the list that showed it first */
    uint32_t references;
    int32_t sequence;
    int32_t permits, limit; /* PERMIT */
    enum zkl_kind kind;
    enum zkl_reuse reuse;
    bool listed;  /* still in the line */
    bool claimed; /* a claim of ours answers for it; see zkl_line_orphan */
    char name[];
};

struct zkl_claim;

/* What all lines of a session have in common. */
struct zkl_common {
    struct zkl_clock clock;
    uint64_t session; /* session id; 0: there is none */
    uint64_t nonces;  /* counts attempts; no nonce is used twice in a session */
};

/* A watch on the path's children, which tells when a contender comes. */
enum zkl_children { ZKL_UNWATCHED, ZKL_WATCH_ASKED, ZKL_WATCHED };

/* A lock that this session kept, gave back to others and soon wanted again is not kept meanwhile.
 */
struct zkl_backoff {
    zkl_time gave_back; /* when the lock last went to others; 0: not since it was wanted */
    zkl_time length;    /* of the last one; 0: none for long */
    zkl_time until;
};

struct zkl_line {
    struct zkl_common *common;
    struct zkl_contender **contenders; /* sorted by number, then by name */
    size_t count;
    uint32_t serial; /* counts the lists received */
    bool exhausted;  /* numbers do not tell the order: czxids do */
    bool incomplete; /* list before the next grant: a writer went, and may have left a
                        reader with its number; or the connection was lost */
    bool opened;     /* a create succeeded: the path exists */
    bool condition;  /* its contenders wait for a signal */
    enum zkl_children children;
    bool changed; /* in this turn, and since the last list of a claim in LIST, a contender came or
                     went; or may have, unwatched (turn.c) */
    struct zkl_claim *claims, **claims_end; /* this session's, in order of arrival */
    size_t tries;                           /* of them, those that must not queue */
    struct zkl_claim *kept; /* in KEPT, or holds by a node that may be kept; or NULL */
    struct zkl_backoff backoff;
};

void zkl_line_clear(struct zkl_line *line);

/*
 * Takes a new list of children; names that are no contenders are ignored, and so is one
 * that is there again: each contender is in the line once.
 * False: out of memory, the line is unchanged.
 */
bool zkl_line_replace(struct zkl_line *line, const char *const *names, size_t count);

/* The contender is a node of this session. */
static inline bool zkl_line_is_own(const struct zkl_line *line,
                                   const struct zkl_contender *contender) {
    return contender->session == line->common->session;
}

struct zkl_contender *zkl_line_find(const struct zkl_line *line, const char *name);
/* The claim's own node, if listed. */
struct zkl_contender *zkl_line_own(const struct zkl_claim *claim);

/* The contender made by this attempt of this session, if listed. */
struct zkl_contender *zkl_line_find_nonce(const struct zkl_line *line, uint64_t nonce);

/* The contender is gone from the server. */
void zkl_line_forget(struct zkl_line *line, struct zkl_contender *contender);

/*
 * The next contender after `after` (NULL: the first) that the claim has to ask about: its czxid is
 * needed, or the claim is to recheck those ahead, all but claim->ahead.
 */
struct zkl_contender *zkl_line_unranked(const struct zkl_line *line, const struct zkl_claim *claim,
                                        const struct zkl_contender *after);

/*
 * The nearest contender ahead of the claim that excludes it, or NULL: it may hold.
 * A reader passes over readers, a PERMIT over none.
 */
struct zkl_contender *zkl_line_ahead(const struct zkl_line *line, const struct zkl_claim *claim);

/* The nearest contender before this one that excludes it, or NULL; by numbers alone. */
struct zkl_contender *zkl_line_before(const struct zkl_line *line,
                                      const struct zkl_contender *contender);

/* A contender of another session is in the line, or may be. */
bool zkl_line_has_others(const struct zkl_line *line);

/* True when no contender excludes one of this kind that would come now. */
bool zkl_line_is_free(const struct zkl_line *line, enum zkl_kind kind);

/* The first contender, if that is another session's node that may be kept; else NULL. */
struct zkl_contender *zkl_line_first_kept(const struct zkl_line *line);

/* The contender is ahead of the claim, as far as can be known. */
bool zkl_line_precedes(const struct zkl_line *line, const struct zkl_contender *contender,
                       const struct zkl_claim *claim);

/* How many contenders are ahead of the claim. */
size_t zkl_line_count_ahead(const struct zkl_line *line, const struct zkl_claim *claim);

/*
 * A node of this session that no claim answers for: a create whose outcome
 * stayed unknown and that landed late. The caller removes it (zkl_claim_adopt).
 */
struct zkl_contender *zkl_line_orphan(const struct zkl_line *line);

/*
 * Whether a node of ZKL_NAME_FIXED is an orphan, by the owner and the czxid that a get shows. The
 * caller removes an orphan (zkl_claim_adopt_fixed); of a node that may be one it asks again later.
 */
enum zkl_orphan {
    ZKL_ANSWERED, /* the node is another session's, or a claim's */
    ZKL_PERHAPS,  /* an orphan, or the node of a claim that does not know of it yet */
    ZKL_ORPHAN
};
enum zkl_orphan zkl_line_fixed_orphan(const struct zkl_line *line, uint64_t owner, int64_t czxid);

struct zkl_contender *zkl_contender_ref(struct zkl_contender *contender);
void zkl_contender_unref(struct zkl_contender *contender);

#endif
