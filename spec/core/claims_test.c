/*
 * claims_test.c - runs spec/core/claims, scripts (script.h) of events and resulting actions in a
 * scene (scene.h).
 *
 * The claims are a, then b and c on the same path, and part on its own path, as a multi-lock's
 * second part, a waiter, or a waiter's lock. A step is a's unless it names a claim. An outcome has
 * the actions (`grant` is ZKL_DO_GRANT) and new states. Times are in seconds, and T, the session
 * timeout, is 10. `watch` is of the own node, `watch(lock-7)` of a node ahead.
 *
 * A claim's letter stands for the name of its node, and `a@42` for the name that its pending create
 * would get with number 42. `lock-7` stands for all ten digits. Ahead, writer, behind, holder and
 * limited are nodes of another session, kept is a node that may be kept, foreign is another
 * library's, and late is number 42 of the session's first attempt.
 */
#include <ctype.h>
#include <stddef.h>

#include "keep.h"
#include "permits.h"
#include "scene.h"
#include "script.h"

/* --- words ----------------------------------------------------------------------------------- */

#define LATE "_c_10000000-0000-0abc-0000-000000000001-lock-0000000042"

static const char *const replies[] = {"done", "absent", "refused", "unknown"};

static const struct {
    const char *word, *name;
} nodes[] = {{"ahead", AHEAD},
             {"writer", WRITER},
             {"behind", BEHIND},
             {"holder", HOLDER},
             {"limited", LIMITED},
             {"kept", "_c_11111111-2222-3333-4000-000000000001-lock-0000000041"},
             {"foreign", "_c_f47ac10b-58cc-4372-8000-000000000001-lock-0000000040"}};

static struct {
    const char *name;
    struct zkl_claim *claim;
} claims[] = {{"a", &s.claim}, {"b", &s.second}, {"c", &s.third}, {"part", &s.part}};

enum { CLAIMS = sizeof claims / sizeof *claims };

static bool has(const char *text) {
    return word_index(text) > 0;
}

static enum zkl_kind kind(size_t i) {
    return (enum zkl_kind)one_of(i, zkl_kind_names, ZKL_PERMIT + 1, "there is no such kind");
}

static enum zkl_reply reply(size_t i) {
    return (enum zkl_reply)one_of(i, replies, sizeof replies / sizeof *replies,
                                  "there is no such reply");
}

static enum zkl_claim_state state(size_t i) {
    return (enum zkl_claim_state)one_of(i, scene_states, sizeof scene_states / sizeof *scene_states,
                                        "there is no such state");
}

static enum zkl_code code(size_t i) {
    if (i >= words) return ZKL_OK;
    for (enum zkl_code each = ZKL_OK; each <= ZKL_FORKED; each++)
        if (strcmp(word[i], zkl_code_name(each)) == 0) return each;
    wrong = "there is no such code";
    return ZKL_OK;
}

static struct zkl_claim *claim_of(const char *text) {
    for (size_t i = 0; i < CLAIMS; i++)
        if (strcmp(text, claims[i].name) == 0) return claims[i].claim;
    return NULL;
}

static const char *name_of(const char *text) {
    static char name[SCRIPT_WORDS][2 * ZKL_NAME_SIZE];
    static size_t next;
    char *made = name[next++ % SCRIPT_WORDS];
    EACH(nodes, i)
    if (strcmp(text, nodes[i].word) == 0) return nodes[i].name;
    if (strcmp(text, "late") == 0) return LATE;
    if (claim_of(text)) return claim_of(text)->node.name;
    const char *sign = strchr(text, '@');
    if (sign) {
        char who[SCRIPT_LINE];
        snprintf(who, sizeof who, "%.*s", (int)(sign - text), text);
        struct zkl_claim *claim = claim_of(who);
        if (!claim) wrong = "there is no such claim";
        if (!claim) return text;
        int32_t sequence = strcmp(sign + 1, "max") == 0 ? INT32_MAX : atoi(sign + 1);
        snprintf(made, sizeof name[0], "%s", scene_name_of(claim, sequence));
        return made;
    }
    const char *dash = strrchr(text, '-');
    if (!dash) return text;
    bool is_max = strcmp(dash, "-max") == 0, is_number = isdigit((unsigned char)dash[1]);
    bool is_short = is_number && (dash[1] != '0' || !dash[2]) && strlen(dash) <= 10;
    if (!is_max && !is_short) return text;
    snprintf(made, sizeof name[0], "%.*s%010d", (int)(dash + 1 - text), text,
             is_max ? INT32_MAX : atoi(dash + 1));
    return made;
}

static const char *word_for(const char *name) {
    static char text[2 * ZKL_NAME_SIZE];
    if (!*name) return "none";
    EACH(nodes, i)
    if (strcmp(name, nodes[i].name) == 0) return nodes[i].word;
    for (size_t i = 0; i < CLAIMS; i++)
        if (claims[i].claim->line && strcmp(name, claims[i].claim->node.name) == 0)
            return claims[i].name;
    if (strcmp(name, LATE) == 0) return "late";
    size_t length = strlen(name);
    if (length <= 10 || name[length - 11] != '-') return name;
    snprintf(text, sizeof text, "%.*s%d", (int)length - 10, name, atoi(name + length - 10));
    return text;
}

/* `nobody` is a contender that the line has forgotten. */
static struct zkl_contender *contender(struct zkl_claim *claim, size_t i) {
    if (is(i, "nobody")) return NULL;
    struct zkl_contender *found =
        i < words ? zkl_line_find(claim->line, name_of(word[i])) : claim->ahead;
    if (!found) wrong = "there is no such contender";
    return found;
}

/* --- events ---------------------------------------------------------------------------------- */

/* add <kind> [try], not started */
static zkl_actions add(struct zkl_claim *claim) {
    zkl_claim_init(claim, claim == &s.part ? &s.part_line : &s.line, kind(1), ZKL_NEVER,
                   has("try"));
    return 0;
}

/* open <kind> [try] [until <seconds>] */
static zkl_time deadline(size_t i) {
    return is(i, "until") ? 1000 * ZKL_SECOND + seconds(i + 1, 0) : ZKL_NEVER;
}

static zkl_actions enter(struct zkl_claim *claim) {
    (void)claim;
    scene_open(kind(1), deadline(has("try") ? 3 : 2), has("try"));
    return 0;
}

/* reach <state> [<kind>] [until <seconds>] */
static zkl_actions reach(struct zkl_claim *claim) {
    (void)claim;
    enum zkl_claim_state wanted = state(1);
    bool has_kind = words > 2 && !is(2, "until");
    enum zkl_kind of = has_kind ? kind(2) : wanted == ZKL_DOWNGRADE ? ZKL_WRITE : ZKL_MUTEX;
    zkl_time until = deadline(has_kind ? 3 : 2);
    if (!wrong) scene_reach_as(of, wanted, until);
    if (!wrong && s.claim.state != wanted) wrong = "it does not get there";
    return 0;
}

static zkl_actions reach_waiter(struct zkl_claim *claim) {
    (void)claim;
    if (words > 1) scene_reach_waiter(state(1), deadline(2));
    else scene_open_waiter();
    return 0;
}

static zkl_actions join(struct zkl_claim *claim) {
    (void)claim;
    scene_join();
    return 0;
}

static zkl_actions batch(struct zkl_claim *claim) {
    bool by_time = is(1, "time");
    zkl_claim_set_batch(claim, by_time ? ZKL_BATCH_BY_TIME : (int32_t)number(1, 1));
    return 0;
}

static zkl_actions keep(struct zkl_claim *claim) {
    zkl_claim_set_keep(claim, seconds(1, ZKL_SECOND), s.now);
    return 0;
}

/* come [try] starts a mutex claim with a's batch and keep */
static zkl_actions come(struct zkl_claim *claim) {
    if (claim->line) wrong = "it is there already";
    if (wrong) return 0;
    zkl_claim_init(claim, &s.line, ZKL_MUTEX, ZKL_NEVER, has("try"));
    if (s.claim.batch) zkl_claim_set_batch(claim, s.claim.batch);
    if (s.claim.keep) zkl_claim_set_keep(claim, s.claim.keep, s.now);
    return zkl_claim_start(claim);
}

/*
 * reach-kept HELD|KEPT: a lone claim with a node that stays for 10 s; in HELD its watch is asked
 * for
 */
static zkl_actions reach_kept(struct zkl_claim *claim) {
    (void)claim;
    scene_open(ZKL_MUTEX, ZKL_NEVER, false);
    zkl_claim_set_keep(&s.claim, 10 * ZKL_SECOND, s.now);
    scene_start();
    scene_created(42, 1042);
    LISTED(s.claim.node.name);
    if (state(1) == ZKL_HELD) return 0;
    s.line.children = ZKL_WATCHED;
    scene_list_fails(ZKL_DONE, ZKL_OK);
    scene_release();
    return 0;
}

/*
 * await [<seconds>]: the claim waits in a condition, with the part as waiter; `part: await
 * [<claim>]`: the part waits, with a or the named claim as waiter
 */
static zkl_actions await_signal(struct zkl_claim *claim) {
    if (claim == &s.part && claim_of(at(1)))
        return zkl_claim_enter_condition(claim_of(at(1)), &s.part, ZKL_NEVER);
    if (claim == &s.part)
        return zkl_claim_enter_condition(&s.claim, &s.part, s.now + seconds(1, 1000 * T));
    zkl_claim_init(&s.part, &s.part_line, ZKL_MUTEX, ZKL_NEVER, false);
    return zkl_claim_enter_condition(&s.part, claim, words > 1 ? s.now + seconds(1, 0) : ZKL_NEVER);
}

/* created <number> [<czxid>] */
static zkl_actions created(struct zkl_claim *claim) {
    int32_t sequence = (int32_t)number(1, 0);
    return zkl_claim_created(claim, ZKL_DONE, ZKL_OK, scene_name_of(claim, sequence),
                             number(2, (int64_t)1000 + sequence));
}

/* create <reply> [<code>] */
static zkl_actions create(struct zkl_claim *claim) {
    return zkl_claim_created(claim, reply(1), code(2), NULL, 0);
}

static zkl_actions parents(struct zkl_claim *claim) {
    zkl_claim_parents(claim, reply(1), code(2));
    return 0;
}

static zkl_actions fixed_created(struct zkl_claim *claim) {
    return zkl_claim_fixed_created(claim, number(1, 0), s.now);
}

/* Expands a word to names; lock-3..5 gives three. */
static size_t names_of(const char *text, const char **names) {
    const char *dots = strstr(text, ".."), *dash = dots ? strrchr(text, '-') : NULL;
    size_t made = 0;
    if (!dash) names[made++] = name_of(text);
    for (int i = dash ? atoi(dash + 1) : 1; i <= (dash ? atoi(dots + 2) : 0); i++) {
        char each[ZKL_NAME_SIZE];
        snprintf(each, sizeof each, "%.*s%d", (int)(dash + 1 - text), text, i);
        names[made++] = name_of(each);
    }
    return made;
}

/* line <name>...: a list that no claim hears of */
static zkl_actions line(struct zkl_claim *claim) {
    const char *names[SCRIPT_WORDS];
    size_t made = 0;
    for (size_t i = 1; i < words; i++) made += names_of(word[i], names + made);
    CHECK(zkl_line_replace(claim->line, names, made));
    return 0;
}

/* place <number> [<czxid>]: the claim's node, as in the newest list */
static zkl_actions place(struct zkl_claim *claim) {
    claim->node.sequence = (int32_t)number(1, 0);
    claim->node.czxid = number(2, INT64_C(1000) + claim->node.sequence);
    claim->node.list_serial = claim->line->serial;
    return 0;
}

/* known <name> <czxid> */
static zkl_actions known(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    if (found) found->czxid = number(2, 0);
    return 0;
}

/* about <name>: says a contender's czxid, first list and predecessor */
static zkl_actions about(struct zkl_claim *claim) {
    const struct zkl_contender *found = contender(claim, 1);
    if (!found) return 0;
    script_separate();
    script_say("czxid %" PRId64 ", list %" PRIu32, found->czxid, found->first_list);
    found = zkl_line_ahead_of(claim->line, found);
    if (found) script_say(", behind %s", word_for(found->name));
    return 0;
}

/* listed <name>...: a list for the claim */
static zkl_actions listed(struct zkl_claim *claim) {
    line(claim);
    return zkl_claim_listed(claim, ZKL_DONE, ZKL_OK, s.now);
}

/* list <reply> [<code>] leaves the line */
static zkl_actions list(struct zkl_claim *claim) {
    return zkl_claim_listed(claim, reply(1), code(2), s.now);
}

/* children <reply> [unwatched]: a list, with a watch if there was room */
static zkl_actions children(struct zkl_claim *claim) {
    bool watched = reply(1) == ZKL_DONE && !has("unwatched");
    claim->line->children = watched ? ZKL_WATCHED : ZKL_UNWATCHED;
    return zkl_claim_listed(claim, reply(1), ZKL_OK, s.now);
}

/* contended tells of a change of the children */
static zkl_actions contended(struct zkl_claim *claim) {
    claim->line->children = ZKL_UNWATCHED;
    claim->line->changed = true;
    return zkl_claim_contended(claim, s.now);
}

/* Proves the session, by a proof issued so long ago, or by steady proofs. */
static void prove_since(size_t i) {
    if (i < words) zkl_clock_prove(&s.common.clock, s.now - seconds(i, 0), s.now);
    else scene_prove();
}

/* synced <reply> [<seconds>] */
static zkl_actions synced(struct zkl_claim *claim) {
    if (reply(1) == ZKL_DONE) prove_since(2);
    return zkl_claim_synced(claim, reply(1), s.now);
}

/* got <reply> [<czxid>] [strange], of the own node */
static zkl_actions got(struct zkl_claim *claim) {
    uint64_t owner = has("strange") ? SESSION + 1 : SESSION;
    int64_t czxid = is(2, "strange") ? 1042 : number(2, 1042);
    if (reply(1) != ZKL_DONE) czxid = 0;
    return zkl_claim_got_own(claim, reply(1), ZKL_AUTH, czxid, owner, s.now);
}

/* ahead <reply> [<name>], by default of the predecessor */
static zkl_actions ahead(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 2);
    return found ? zkl_claim_got_ahead(claim, found, reply(1), ZKL_AUTH, s.now) : 0;
}

static zkl_actions ahead_is_held(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    return wrong ? 0 : zkl_claim_ahead_is_held(claim, found);
}

/* ahead-marked <zxid> [<name>] */
static zkl_actions ahead_marked(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 2);
    return found ? zkl_claim_ahead_marked(claim, found, number(1, 0)) : 0;
}

static zkl_actions ahead_changed(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    return wrong ? 0 : zkl_claim_ahead_changed(claim, found);
}

/* gone [<name>] deletes a node, by default the predecessor */
static zkl_actions gone(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    if (found) zkl_contender_ref(found);
    zkl_actions did = wrong ? 0 : zkl_claim_ahead_deleted(claim, found, s.now);
    zkl_contender_unref(found);
    return did;
}

/* ranked <name> <reply> [<czxid>] */
static zkl_actions ranked(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    if (!found) return 0;
    zkl_contender_ref(found);
    zkl_actions did = zkl_claim_ranked(claim, found, reply(2), number(3, 0), s.now);
    zkl_contender_unref(found);
    return did;
}

static zkl_actions forget(struct zkl_claim *claim) {
    struct zkl_contender *found = contender(claim, 1);
    if (found) zkl_line_forget(claim->line, found);
    return 0;
}

static zkl_actions downgraded(struct zkl_claim *claim) {
    return zkl_claim_downgraded(claim, reply(1), ZKL_AUTH);
}

/* forwarded <reply> [write-failed] */
static zkl_actions forwarded(struct zkl_claim *claim) {
    return zkl_claim_forwarded(claim, reply(1), has("write-failed"));
}

/* adopt [<czxid>] takes the orphan, or a node of the fixed name */
static zkl_actions adopt(struct zkl_claim *claim) {
    if (words > 1) return zkl_claim_adopt_fixed(claim, number(1, 0));
    struct zkl_contender *orphan = zkl_line_orphan(claim->line);
    if (!orphan) wrong = "there is no orphan";
    return orphan ? zkl_claim_adopt(claim, orphan) : 0;
}

static zkl_actions hold_until(struct zkl_claim *claim) {
    claim->deadline = s.now + seconds(1, 0);
    return 0;
}

static zkl_actions cancel(struct zkl_claim *claim) {
    return zkl_claim_cancel(claim, code(1));
}

/* Answers a's request with ZKL_UNKNOWN. */
static zkl_actions stall(struct zkl_claim *claim) {
    if (claim != &s.claim) wrong = "only a stalls";
    return scene_stall();
}

/* `online` and `offline`: no claim is told. */
static zkl_actions connect(struct zkl_claim *claim) {
    (void)claim;
    s.common.clock.connected = is(0, "online");
    return 0;
}

static zkl_actions resume(struct zkl_claim *claim) {
    s.common.clock.connected = true;
    return zkl_claim_resume(claim, s.now);
}

static zkl_actions cut(struct zkl_claim *claim) {
    s.common.clock.connected = false;
    return zkl_claim_suspend(claim);
}

static zkl_actions expire(struct zkl_claim *claim) {
    zkl_clock_end(&s.common.clock);
    return zkl_claim_expire(claim, words > 1 ? code(1) : ZKL_EXPIRED);
}

static zkl_actions tick(struct zkl_claim *claim) {
    s.now += seconds(1, 0);
    return zkl_claim_tick(claim, s.now);
}

/* pass, run, stop <seconds>, without a tick; run has a running process, stop a stopped one */
static zkl_actions pass(struct zkl_claim *claim) {
    (void)claim;
    if (is(0, "run")) scene_run(seconds(1, 0));
    else if (is(0, "stop")) scene_stop(seconds(1, 0));
    else s.now += seconds(1, 0);
    return 0;
}

static zkl_actions prove(struct zkl_claim *claim) {
    (void)claim;
    prove_since(1);
    return 0;
}

/* --- fields ---------------------------------------------------------------------------------- */

static const struct field {
    const char *name;
    size_t offset, size;
    bool of_line, of_common;
} fields[] = {
#define FIELD(type, field, of_line, of_common)                                                     \
    { #field, offsetof(type, field), sizeof(((type *)0)->field), of_line, of_common }
#define OF_CLAIM(field) FIELD(struct zkl_claim, field, 0, 0)
#define OF_LINE(field) FIELD(struct zkl_line, field, 1, 0)
#define OF_COMMON(field) FIELD(struct zkl_common, field, 0, 1)
#define FIELDS                                                                                     \
    OF_CLAIM(permits), OF_CLAIM(limit), OF_CLAIM(max_waiters), OF_CLAIM(reuse), OF_CLAIM(trying),  \
        OF_CLAIM(wanted), OF_CLAIM(stalled), OF_CLAIM(announced), OF_CLAIM(rounds),                \
        OF_CLAIM(recheck), OF_CLAIM(rank_gets), OF_CLAIM(holders_list), OF_CLAIM(looking_ahead),   \
        OF_CLAIM(epoch), OF_CLAIM(last_of_turn), OF_CLAIM(awaits_list), OF_CLAIM(node.czxid),      \
        OF_CLAIM(node.nonce), OF_CLAIM(node.sequence), OF_CLAIM(node.grants),                      \
        OF_CLAIM(node.watched), OF_CLAIM(node.doubted), OF_CLAIM(node.contended),                  \
        OF_CLAIM(node.says_held), OF_LINE(count), OF_LINE(serial), OF_LINE(exhausted),             \
        OF_LINE(tries), OF_LINE(incomplete), OF_LINE(path_exists), OF_LINE(changed),               \
        OF_LINE(backoff.gave_back), OF_COMMON(session), OF_COMMON(clock.epoch)
    FIELDS};

/* A field may be named without the part before its dot. */
static const struct field *field_of(const char *name) {
    EACH(fields, i) {
        const char *dot = strrchr(fields[i].name, '.');
        if (strcmp(name, fields[i].name) == 0) return &fields[i];
        if (dot && strcmp(name, dot + 1) == 0) return &fields[i];
    }
    wrong = "there is no such field";
    return NULL;
}

static char *address(struct zkl_claim *claim, const struct field *field) {
    if (field->of_common) return (char *)claim->line->common + field->offset;
    return (field->of_line ? (char *)claim->line : (char *)claim) + field->offset;
}

static zkl_actions set(struct zkl_claim *claim) {
    const struct field *field = field_of(at(1));
    int64_t value = number(2, 1);
    int32_t small = (int32_t)value;
    bool truth = value != 0;
    if (!field) return 0;
    const void *from = field->size == sizeof value   ? (const void *)&value
                       : field->size == sizeof small ? (const void *)&small
                                                     : (const void *)&truth;
    memcpy(address(claim, field), from, field->size);
    return 0;
}

static void show_field(struct zkl_claim *claim, const char *name) {
    const struct field *field = field_of(name);
    int64_t value = 0;
    int32_t small = 0;
    bool truth = false;
    if (!field) return;
    void *to = field->size == sizeof value   ? (void *)&value
               : field->size == sizeof small ? (void *)&small
                                             : (void *)&truth;
    memcpy(to, address(claim, field), field->size);
    script_say("%s %" PRId64, name, value + small + truth);
}

static void show_names(const struct zkl_line *of) {
    script_say("line");
    for (size_t i = 0; i < of->count; i++) script_say(" %s", word_for(of->contenders[i]->name));
}

/* Says the kinds for which the line is free. */
static void show_free(const struct zkl_line *of) {
    script_say("free");
    for (int kind = ZKL_MUTEX; kind <= ZKL_WRITE; kind++)
        if (zkl_line_is_free(of, (enum zkl_kind)kind)) script_say(" %s", zkl_kind_names[kind]);
}

static void show_unranked(const struct zkl_claim *claim) {
    struct zkl_contender *each = NULL;
    script_say("unranked");
    while ((each = zkl_line_unranked(claim->line, claim, each)))
        script_say(" %s", word_for(each->name));
}

static const char *claim_word(const struct zkl_claim *claim) {
    for (size_t i = 0; i < CLAIMS; i++)
        if (claims[i].claim == claim) return claims[i].name;
    return "none";
}

static void show_claims(const struct zkl_line *of) {
    script_say("claims");
    for (const struct zkl_claim *each = of->claims; each; each = each->next)
        script_say(" %s", claim_word(each));
}

static const char *contender_word(const struct zkl_contender *of) {
    return of ? word_for(of->name) : "none";
}

/* own-1042: is the session's node of the fixed name with czxid 1042 an orphan? */
static bool show_fixed(const struct zkl_claim *claim, const char *what) {
    static const char *const answers[] = {"no-orphan", "perhaps", "orphan"};
    const char *dash = strchr(what, '-');
    uint64_t owner = strncmp(what, "own-", 4) == 0 ? SESSION : SESSION + 1;
    if (strncmp(what, "own-", 4) != 0 && strncmp(what, "strange-", 8) != 0) owner = 0;
    if (owner == 0 && strncmp(what, "unowned-", 8) != 0) return false;
    script_say("%s %s", what, answers[zkl_line_fixed_orphan(claim->line, owner, atoi(dash + 1))]);
    return true;
}

static bool follows(const struct zkl_claim *claim) {
    return zkl_claim_follower((struct zkl_claim *)claim) == claim;
}

static bool show_predicate(const struct zkl_claim *claim, const char *what) {
    static const struct {
        const char *name;
        bool (*is)(const struct zkl_claim *claim);
    } predicates[] = {{"holds", zkl_claim_holds},
                      {"follows", follows},
                      {"too-many", zkl_claim_exceeds_max_waiters},
                      {"may-downgrade", zkl_claim_may_downgrade}};
    EACH(predicates, i) {
        if (strcmp(what, predicates[i].name) != 0) continue;
        script_say("%s %d", what, predicates[i].is(claim));
        return true;
    }
    return false;
}

/* Says all that a successor gets. */
static void show_place(const struct zkl_claim *claim) {
    const struct zkl_node *node = &claim->node;
    uint64_t nonce = node->nonce & (ZKL_NONCE_COUNTS - 1);
    script_say("place %s %" PRId32 "/%" PRId64, word_for(node->name), node->sequence, node->czxid);
    script_say(" nonce %" PRIu64 " list %" PRIu32 " grants %" PRId32, nonce, node->list_serial,
               node->grants);
    if (node->watched) script_say(" watched");
    if (node->doubted) script_say(" doubted");
    if (node->says_held) script_say(" marked");
}

static void show_one(struct zkl_claim *claim, const char *what) {
    static const char *const watches[] = {"unwatched", "asked", "watched"};
    static const char *const progress[] = {"no waiter", "came", "began", "settled"};
    if (strcmp(what, "line") == 0) show_names(claim->line);
    else if (strcmp(what, "claims") == 0) show_claims(claim->line);
    else if (strcmp(what, "free") == 0) show_free(claim->line);
    else if (strcmp(what, "unranked") == 0) show_unranked(claim);
    else if (strcmp(what, "nearest") == 0)
        script_say("nearest %s", contender_word(zkl_line_ahead(claim->line, claim)));
    else if (strcmp(what, "before") == 0)
        script_say("before %zu", zkl_line_count_ahead(claim->line, claim));
    else if (strcmp(what, "keepable") == 0)
        script_say("keepable %s", contender_word(zkl_line_first_keepable(claim->line)));
    else if (strcmp(what, "others") == 0)
        script_say("others %d", zkl_line_may_have_others(claim->line));
    else if (strcmp(what, "state") == 0) script_say("%s", scene_states[claim->state]);
    else if (strcmp(what, "name") == 0)
        script_say("name %s", *claim->node.name ? claim->node.name : "none");
    else if (strcmp(what, "node") == 0) /* name behind the session */
        script_say("node %.60s", strlen(claim->node.name) > 27 ? claim->node.name + 27 : "none");
    else if (strcmp(what, "waiter") == 0) script_say("%s", progress[claim->as_waiter]);
    else if (strcmp(what, "partner") == 0) script_say("partner %s", claim_word(claim->partner));
    else if (strcmp(what, "next-part") == 0)
        script_say("next-part %s", claim_word(claim->next_part));
    else if (strcmp(what, "stranger") == 0)
        script_say("stranger %s", contender_word(zkl_permits_stranger(claim->line, claim)));
    else if (show_fixed(claim, what) || show_predicate(claim, what)) return;
    else if (strcmp(what, "code") == 0) script_say("code %s", zkl_code_name(claim->code));
    else if (strcmp(what, "refusal") == 0) script_say("refusal %s", zkl_code_name(claim->refusal));
    else if (strcmp(what, "kind") == 0) script_say("%s", zkl_kind_names[claim->kind]);
    else if (strcmp(what, "token") == 0) script_say("token %" PRId64, zkl_claim_token(claim));
    else if (strcmp(what, "ahead") == 0) script_say("ahead %s", contender_word(claim->ahead));
    else if (strcmp(what, "lookahead") == 0)
        script_say("lookahead %s", contender_word(claim->lookahead));
    else if (strcmp(what, "keeper") == 0) script_say("keeper %s", claim_word(claim->line->keeper));
    else if (strcmp(what, "orphan") == 0)
        script_say("orphan %s", contender_word(zkl_line_orphan(claim->line)));
    else if (strcmp(what, "children") == 0)
        script_say("children %s", watches[claim->line->children]);
    else if (strcmp(what, "deadline") == 0)
        script_say("deadline %+g", claim->deadline == ZKL_NEVER
                                       ? -1
                                       : (double)(claim->deadline - s.now) / (double)ZKL_SECOND);
    else if (strcmp(what, "place") == 0) show_place(claim);
    else if (strcmp(what, "inherits") == 0)
        script_say("inherits %d", zkl_claim_inherits(claim, claim->line->keeper));
    else if (strcmp(what, "keep") == 0)
        script_say("keep %g", (double)claim->keep / (double)ZKL_SECOND);
    else if (strcmp(what, "backoff") == 0)
        script_say("backoff %g", (double)claim->line->backoff.length / (double)ZKL_SECOND);
    else show_field(claim, what);
}

static zkl_actions show(struct zkl_claim *claim) {
    script_separate();
    for (size_t i = 1; i < words; i++) {
        if (i > 1) script_say(", ");
        show_one(claim, word[i]);
    }
    return 0;
}

/* --- a step ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    zkl_actions (*happens)(struct zkl_claim *claim); /* NULL: a function below */
    zkl_actions (*timed)(struct zkl_claim *claim, zkl_time now);
    zkl_actions (*replied)(struct zkl_claim *claim, enum zkl_reply reply);
    void (*told)(struct zkl_claim *claim);
    bool makes_scene; /* it makes a scene, and has no outcome */
} verbs[] = {
    {"about", .happens = about, .makes_scene = true},
    {"add", .happens = add, .makes_scene = true},
    {"adopt", .happens = adopt},
    {"ahead", .happens = ahead},
    {"ahead-changed", .happens = ahead_changed},
    {"ahead-marked", .happens = ahead_marked},
    {"await", .happens = await_signal},
    {"batch", .happens = batch},
    {"beat", .timed = zkl_claim_beat},
    {"cancel", .happens = cancel},
    {"children", .happens = children},
    {"come", .happens = come},
    {"contended", .happens = contended},
    {"count-grants", .told = zkl_claim_count_grants},
    {"create", .happens = create},
    {"created", .happens = created},
    {"cut", .happens = cut},
    {"detach", .told = scene_detach, .makes_scene = true},
    {"expire", .happens = expire},
    {"forget", .happens = forget},
    {"forwarded", .happens = forwarded},
    {"gone", .happens = gone},
    {"got", .happens = got},
    {"hold", .happens = hold_until},
    {"join", .happens = join, .makes_scene = true},
    {"keep", .happens = keep},
    {"known", .happens = known, .makes_scene = true},
    {"lock-node-gone", .happens = zkl_claim_lock_node_gone},
    {"line", .happens = line},
    {"list", .happens = list},
    {"listed", .happens = listed},
    {"marked", .replied = zkl_claim_marked},
    {"offline", .happens = connect},
    {"online", .happens = connect},
    {"open", .happens = enter, .makes_scene = true},
    {"own-changed", .happens = zkl_claim_own_changed},
    {"own-deleted", .happens = zkl_claim_own_deleted},
    {"parents", .happens = parents},
    {"partner", .happens = zkl_claim_partner_changed},
    {"pass", .happens = pass},
    {"place", .happens = place, .makes_scene = true},
    {"fixed-created", .happens = fixed_created},
    {"prove", .happens = prove},
    {"ranked", .happens = ranked},
    {"reach", .happens = reach, .makes_scene = true},
    {"reach-kept", .happens = reach_kept, .makes_scene = true},
    {"reach-waiter", .happens = reach_waiter, .makes_scene = true},
    {"release", .timed = zkl_claim_release},
    {"removed", .replied = zkl_claim_removed},
    {"resume", .happens = resume},
    {"run", .happens = pass},
    {"set", .happens = set, .makes_scene = true},
    {"downgrade", .happens = zkl_claim_downgrade},
    {"downgraded", .happens = downgraded},
    {"show", .happens = show},
    {"signalled", .happens = zkl_claim_signalled},
    {"stall", .happens = stall},
    {"start", .happens = zkl_claim_start},
    {"stop", .happens = pass},
    {"stop-keeping", .happens = zkl_claim_stop_keeping},
    {"synced", .happens = synced},
    {"offer-kept", .timed = zkl_claim_offer_kept},
    {"fixed-exists", .happens = zkl_claim_fixed_exists},
    {"tick", .happens = tick},
    {"ahead-is-held", .happens = ahead_is_held},
    {"mark-overwritten", .happens = zkl_claim_mark_overwritten},
    {"wake", .happens = zkl_claim_wake},
    {"yield", .happens = zkl_claim_yield},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static const char *const actions[] = {
    "parents", "create",    "sync",       "list",           "rank",         "watch",  "watch",
    "remove",  "downgrade", "forward",    "doubt",          "follow",       "queued", "grant",
    "fail",    "lose",      "downgraded", "stayed",         "tell-partner", "forget", "pause",
    "holders", "mark",      "lookahead",  "watch-children", "keep"};

static size_t count_ranks(struct zkl_claim *claim) {
    size_t gets = 0;
    struct zkl_contender *each = NULL;
    while ((each = zkl_line_unranked(claim->line, claim, each))) gets++;
    claim->rank_gets += (uint32_t)gets;
    return gets;
}

static void say_of(struct zkl_claim *claim, enum zkl_action action) {
    const char *detail = action == ZKL_DO_FAIL              ? zkl_code_name(claim->code)
                         : action == ZKL_DO_STAYED          ? zkl_code_name(claim->refusal)
                         : action == ZKL_DO_DOWNGRADED      ? zkl_code_name(claim->refusal)
                         : action == ZKL_DO_WATCH_AHEAD     ? contender_word(claim->ahead)
                         : action == ZKL_DO_FORWARD         ? contender_word(claim->ahead)
                         : action == ZKL_DO_WATCH_LOOKAHEAD ? contender_word(claim->lookahead)
                                                            : NULL;
    if (detail) script_say("(%s)", detail);
    if (action == ZKL_DO_RANK) script_say("(%zu)", count_ranks(claim));
    if (action == ZKL_DO_GRANT) script_say("(%" PRId64 ")", zkl_claim_token(claim));
}

static void say_actions(struct zkl_claim *claim, zkl_actions did, const char **gap) {
    EACH(actions, i) {
        if (!(did & (zkl_actions)1 << i)) continue;
        script_say("%s%s", *gap, actions[i]);
        say_of(claim, (enum zkl_action)(1 << i));
        *gap = " ";
    }
}

struct snapshot {
    bool there, stalled;
    enum zkl_claim_state state;
};

static void take_snapshots(struct snapshot taken[CLAIMS]) {
    for (size_t i = 0; i < CLAIMS; i++) {
        const struct zkl_claim *claim = claims[i].claim;
        taken[i] = (struct snapshot){.there = claim->line != NULL,
                                     .state = claim->line ? claim->state : ZKL_NEW,
                                     .stalled = claim->line && claim->stalled};
    }
}

/* Says the new states, with the names of other claims. */
static void say_changes(const struct zkl_claim *claim, const struct snapshot before[CLAIMS],
                        const struct snapshot after[CLAIMS], const char *gap) {
    for (size_t i = 0; i < CLAIMS; i++) {
        bool own = claims[i].claim == claim, moved = after[i].state != before[i].state;
        bool restalled = after[i].stalled != before[i].stalled;
        bool there = after[i].there && (before[i].there || own); /* or just came */
        if (!there || (!moved && !restalled)) continue;
        script_say("%s%s%s", *gap ? ", " : "", own ? "" : claims[i].name, own ? "" : ":");
        if (moved) script_say("%s%s", own ? "" : " ", scene_states[after[i].state]);
        if (restalled)
            script_say("%s%s", own && !moved ? "" : " ", after[i].stalled ? "stalled" : "resumed");
        gap = ", ";
    }
}

static zkl_actions carry_out(size_t verb, struct zkl_claim *claim) {
    if (verbs[verb].happens) return verbs[verb].happens(claim);
    if (verbs[verb].timed) return verbs[verb].timed(claim, s.now);
    if (verbs[verb].replied) return verbs[verb].replied(claim, reply(1));
    verbs[verb].told(claim);
    return 0;
}

static void script_play(const char *who) {
    struct zkl_claim *claim = *who ? claim_of(who) : &s.claim;
    struct snapshot before[CLAIMS], after[CLAIMS];
    const char *gap = "";
    size_t verb = 0, length = strlen(script_outcome);
    while (verb < VERBS && !is(0, verbs[verb].name)) verb++;
    if (verb == VERBS) wrong = "there is no such step";
    if (!claim) wrong = "there is no such claim";
    if (wrong) return;
    take_snapshots(before);
    zkl_actions did = carry_out(verb, claim);
    take_snapshots(after);
    if (wrong || verbs[verb].makes_scene || is(0, "show")) return;
    script_separate();
    size_t said = strlen(script_outcome);
    say_actions(claim, did, &gap);
    say_changes(claim, before, after, gap);
    if (strlen(script_outcome) == said) script_outcome[length] = '\0';
}

static void script_begin(void) {
    scene_close();
    s = (struct scene){.now = 0};
}

/* --- the table of releases -------------------------------------------------------------------- */

#define RELEASES "spec/core/claims/release.txt"

static bool has_test(const char *name, const char *title) {
    char line[SCRIPT_LINE];
    FILE *file = fopen(name, "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        script_trim(line);
        found = strcmp(line, title) == 0;
    }
    if (file) fclose(file);
    return found;
}

static void walk_releases(void) {
    static const char *const purposes[] = {"no claim", "a later claim", "the next claim"};
    static const char *const turns[] = {"goes on", "may be over", "is over"};
    static const char *const outcomes[] = {"removed", "kept", "kept until a list tells",
                                           "handed on"};
    for (int purpose = 0; purpose < ZKL_PURPOSES; purpose++) {
        for (int turn = 0; turn < ZKL_TURNS; turn++) {
            char title[SCRIPT_LINE];
            snprintf(title, sizeof title, "a node for %s is %s if the turn %s", purposes[purpose],
                     outcomes[zkl_releases[purpose][turn]], turns[turn]);
            if (!has_test(RELEASES, title)) check_complain(RELEASES, 0, "no test \"%s\"", title);
        }
    }
}

int main(int argc, char **argv) {
    if (argc == 1) TEST("each cell of the table of releases has a test") walk_releases();
    return script_main(argc, argv, "spec/core/claims/*.txt");
}
