/*
 * line.h - the line of contenders at one lock path, as this session knows it. A path of the session
 * owns it, for all its claims there, and serialises calls.
 *
 *     zkl_line_replace(&line, names, count);           a list came
 *     ahead = zkl_line_ahead(&line, claim);            the contender to wait for, or NULL
 *
 * The line is the last list from the server, minus the nodes since seen to be gone. That is enough
 * for every claim, because each contender ahead was there before the claim's node. So it is in the
 * list sent with the claim's create, and in every later list as long as it exists. The order is by
 * number or, once numbers are exhausted, by czxid (docs/design/claims.md).
 *
 * The line owns its contenders. A claim that waits for a contender holds a reference to it, as
 * does a request about it.
 */
#ifndef ZKL_LINE_H
#define ZKL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "name.h"

struct zkl_contender {
    int64_t czxid;    /* 0: not known */
    uint64_t session; /* from the name's uuid; 0: no uuid, or the name is too long to be ours */
    uint64_t nonce;
    uint32_t first_list; /* serial of the first list that showed it */
    uint32_t references;
    int32_t sequence;
    int32_t permits, limit; /* PERMIT */
    enum zkl_kind kind;
    enum zkl_reuse reuse;
    bool listed;  /* still in the line */
    bool claimed; /* a claim of ours answers for it (zkl_line_orphan) */
    char name[];
};

struct zkl_claim;

/* State that all lines of a session share. */
struct zkl_common {
    struct zkl_clock clock;
    uint64_t session;    /* session id; 0: none */
    uint64_t last_nonce; /* counts attempts; no nonce is used twice in a session */
};

/* The watch of new contenders, on the path's children. */
enum zkl_children { ZKL_UNWATCHED, ZKL_WATCH_ASKED, ZKL_WATCHED };

/* A session that gave a kept lock to others and soon wants it back does not keep it for a while. */
struct zkl_backoff {
    zkl_time gave_back; /* when the lock went to others; 0: not since our last acquire */
    zkl_time length;    /* length of the last pause from keeping; 0: none of late */
    zkl_time until;     /* end of that pause */
};

struct zkl_line {
    struct zkl_common *common;
    struct zkl_contender **contenders; /* sorted by number, then by name */
    size_t count;
    uint32_t serial;  /* number of the last list; 0: none */
    bool exhausted;   /* numbers do not tell the order, but czxids do */
    bool incomplete;  /* the next grant needs a new list, because a writer went, and may have left a
                         reader with its number, or the connection was lost */
    bool path_exists; /* a create succeeded */
    bool is_condition; /* its contenders wait for a signal */
    enum zkl_children children;
    bool changed; /* a contender came or went since this turn began (turn.c), or since the last list
                     of a claim in LIST, or may have while no watch was set */
    struct zkl_claim *claims, **claims_end; /* claims of this session, in order of arrival */
    size_t tries;                           /* number of these claims that are `trying` */
    struct zkl_claim *keeper; /* the claim in KEPT, or in HELD with a node that may be kept */
    struct zkl_backoff backoff;
};

void zkl_line_clear(struct zkl_line *line);

/*
 * Takes a new list of children, and ignores repeated names and names of no contender. False: out of
 * memory, and no change.
 */
bool zkl_line_replace(struct zkl_line *line, const char *const *names, size_t count);

static inline bool zkl_line_is_own(const struct zkl_line *line,
                                   const struct zkl_contender *contender) {
    return contender->session == line->common->session;
}

struct zkl_contender *zkl_line_find(const struct zkl_line *line, const char *name);
/* The claim's own node, if listed. */
struct zkl_contender *zkl_line_own(const struct zkl_claim *claim);

struct zkl_contender *zkl_line_find_nonce(const struct zkl_line *line, uint64_t nonce);

/* For a contender whose node is gone from the server. */
void zkl_line_forget(struct zkl_line *line, struct zkl_contender *contender);

/*
 * The next contender after `after` (NULL: the first) that needs a get, because its czxid is not
 * known, or because the claim rechecks all contenders ahead but claim->ahead.
 */
struct zkl_contender *zkl_line_unranked(const struct zkl_line *line, const struct zkl_claim *claim,
                                        const struct zkl_contender *after);

/* The claim's predecessor, the nearest contender ahead that excludes it. NULL: it may hold. */
struct zkl_contender *zkl_line_ahead(const struct zkl_line *line, const struct zkl_claim *claim);

/* The predecessor of `contender`, or NULL; always NULL in an exhausted line. */
struct zkl_contender *zkl_line_ahead_of(const struct zkl_line *line,
                                        const struct zkl_contender *contender);

/* A contender of another session is in the line, or may have come since the list. */
bool zkl_line_may_have_others(const struct zkl_line *line);

/* No contender excludes a newcomer of this kind. */
bool zkl_line_is_free(const struct zkl_line *line, enum zkl_kind kind);

/* The first contender, if that is another session's node that may be kept; else NULL. */
struct zkl_contender *zkl_line_first_keepable(const struct zkl_line *line);

/* The contender is ahead of the claim, as far as can be known. */
bool zkl_line_precedes(const struct zkl_line *line, const struct zkl_contender *contender,
                       const struct zkl_claim *claim);

size_t zkl_line_count_ahead(const struct zkl_line *line, const struct zkl_claim *claim);

/*
 * A node of this session without a claim, from a create that landed late. The caller removes it
 * (zkl_claim_adopt).
 */
struct zkl_contender *zkl_line_orphan(const struct zkl_line *line);

/*
 * Whether a node of ZKL_NAME_FIXED is an orphan, by the owner and the czxid of a get. The caller
 * removes an orphan (zkl_claim_adopt_fixed), and asks again later after ZKL_PERHAPS_ORPHAN.
 */
enum zkl_orphan {
    ZKL_NO_ORPHAN,      /* another session's node, or a claim's */
    ZKL_PERHAPS_ORPHAN, /* an orphan, or the node of a claim that does not know of it yet */
    ZKL_ORPHAN
};
enum zkl_orphan zkl_line_fixed_orphan(const struct zkl_line *line, uint64_t owner, int64_t czxid);

struct zkl_contender *zkl_contender_ref(struct zkl_contender *contender);
void zkl_contender_unref(struct zkl_contender *contender);

#endif
