#include "permits.h"

static bool is_ahead(const struct zkl_line *line, const struct zkl_contender *contender,
                     const struct zkl_claim *claim) {
    return !*claim->node.name || zkl_line_precedes(line, contender, claim);
}

static int64_t permits_ahead(const struct zkl_line *line, const struct zkl_claim *claim) {
    int64_t sum = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (is_ahead(line, line->contenders[i], claim)) sum += line->contenders[i]->permits;
    }
    return sum;
}

bool zkl_permits_fit(const struct zkl_line *line, const struct zkl_claim *claim) {
    return permits_ahead(line, claim) + claim->permits <= claim->limit;
}

bool zkl_permits_all_ahead_hold(const struct zkl_line *line, const struct zkl_claim *claim) {
    return permits_ahead(line, claim) <= claim->limit;
}

struct zkl_contender *zkl_permits_stranger(const struct zkl_line *line,
                                           const struct zkl_claim *claim) {
    for (size_t i = 0; i < line->count; i++) {
        struct zkl_contender *contender = line->contenders[i];
        if (contender->limit != claim->limit && is_ahead(line, contender, claim)) return contender;
    }
    return NULL;
}

bool zkl_permits_needs_no_mark(const struct zkl_line *line, const struct zkl_claim *claim) {
    if (line->exhausted || line->count == 0) return false;
    const struct zkl_contender *last = line->contenders[line->count - 1];
    return last->sequence <= claim->node.sequence && zkl_permits_fit(line, claim);
}
