/*
 * script.h - tests that read like a log of steps and their outcomes.
 *
 *   a try that loses the race removes its node (BUG-03)
 *       reach TRY
 *       listed config                     -> create list, CREATE
 *       created 42                        -> LIST
 *       listed ahead a                    -> fail(busy) remove, LEAVE
 *
 * Titles are at the margin, steps are indented, `#` begins a comment, `;` separates steps. Steps
 * without an outcome have no arrow. A word with a colon names the subject of the line. The
 * program's script_play() knows the words. `<program> --rewrite FILE...` writes the present
 * outcomes; read the difference before you keep it.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <glob.h>
#include <stdlib.h>

#include "check.h"
#include "clock.h"

enum { SCRIPT_LINE = 1000, SCRIPT_WORDS = 60, SCRIPT_ARROW = 44 };

static char script_outcome[SCRIPT_LINE]; /* the outcome of the present line so far */

static char **word;
static size_t words;
static const char *wrong; /* why the step cannot be played, or NULL */

/* Plays a step, and says its outcome by script_say(). `who` is the subject, or "". */
static void script_play(const char *who);
static void script_begin(void); /* at each test's begin */

__attribute__((format(printf, 1, 2))) static inline void script_say(const char *format, ...) {
    size_t length = strlen(script_outcome);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(script_outcome + length, sizeof script_outcome - length, format, arguments);
    va_end(arguments);
}

static inline void script_separate(void) {
    if (*script_outcome) script_say("; ");
}

/* --- words of a step -------------------------------------------------------------------------- */

static inline const char *at(size_t i) {
    return i < words ? word[i] : "";
}

static inline bool is(size_t i, const char *text) {
    return strcmp(at(i), text) == 0;
}

/* Index of the word, from 1; 0: none. */
static inline size_t word_index(const char *text) {
    for (size_t i = 1; i < words; i++)
        if (is(i, text)) return i;
    return 0;
}

static inline int find(const char *text, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0) return (int)i;
    return -1;
}

/* Index of the word in the list; else 0, and sets `wrong`. */
static inline int one_of(size_t i, const char *const *list, size_t count, const char *problem) {
    int found = find(at(i), list, count);
    if (found < 0) wrong = problem;
    return found < 0 ? 0 : found;
}

static inline int64_t number(size_t i, int64_t otherwise) {
    char *end;
    if (i >= words) return otherwise;
    if (is(i, "max")) return INT32_MAX;
    int64_t value = strtoll(word[i], &end, 10);
    if (*end) wrong = "a number is missing";
    return value;
}

static inline zkl_time seconds(size_t i, zkl_time otherwise) {
    if (is(i, "never")) return ZKL_NEVER;
    return i < words ? (zkl_time)(strtod(word[i], NULL) * (double)ZKL_SECOND + .5) : otherwise;
}

/* --- lines of a script ------------------------------------------------------------------------ */

static inline void script_split(char *text, char **list) {
    word = list, words = 0;
    for (char *each = strtok(text, " "); each && words < SCRIPT_WORDS; each = strtok(NULL, " "))
        list[words++] = each;
}

/* Plays the steps of a line, until one is wrong. */
static inline void script_steps(const char *line) {
    char text[SCRIPT_LINE], who[SCRIPT_LINE] = "", *list[SCRIPT_WORDS];
    snprintf(text, sizeof text, "%s", line);
    script_outcome[0] = '\0';
    wrong = NULL;
    for (char *step = text, *next; step && !wrong; step = next) {
        next = strchr(step, ';');
        if (next) *next++ = '\0';
        script_split(step, list);
        size_t length = strlen(at(0));
        if (length && word[0][length - 1] == ':') {
            snprintf(who, sizeof who, "%.*s", (int)length - 1, word[0]);
            word++, words--;
        }
        if (words == 0) wrong = "there is no step";
        else script_play(who);
    }
}

static inline void script_trim(char *text) {
    size_t length = strlen(text);
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\n')) text[--length] = '\0';
}

static inline void script_write(FILE *to, const char *steps, const char *comment) {
    char line[2 * SCRIPT_LINE];
    snprintf(line, sizeof line, "    %s", steps);
    if (*script_outcome) {
        size_t length = strlen(line);
        snprintf(line + length, sizeof line - length, "%*s-> %s",
                 length < SCRIPT_ARROW ? (int)(SCRIPT_ARROW - length) : 1, "", script_outcome);
    }
    fprintf(to, "%s%s%s\n", line, *comment ? "  " : "", comment);
}

/* Splits a line "steps -> outcome # comment" in place. */
static inline void script_split_line(char *line, char **steps, char **wanted, char **comment) {
    static char none[] = "";
    *comment = strchr(line, '#');
    char *end = *comment ? *comment : none;
    *comment = *comment ? strdup(end) : none;
    *end = '\0';
    char *arrow = strstr(line, "->");
    *wanted = arrow ? arrow + 2 : none;
    if (arrow) *arrow = '\0';
    *steps = line + strspn(line, " ");
    *wanted += strspn(*wanted, " ");
    script_trim(*steps);
    script_trim(*wanted);
    script_trim(*comment);
}

static inline void script_step(const char *name, int at_line, char *line, FILE *rewritten) {
    char *steps, *wanted, *comment;
    script_split_line(line, &steps, &wanted, &comment);
    script_steps(steps);
    if (wrong) check_complain(name, at_line, "%s: %s", steps, wrong);
    else if (rewritten) script_write(rewritten, steps, comment);
    else if (strcmp(script_outcome, wanted) != 0)
        check_complain(name, at_line, "%s -> %s, not -> %s", steps, script_outcome, wanted);
    if (*comment) free(comment);
}

/* Counts a script without tests as a failed test. */
static inline void script_fails(const char *name, int at_line, const char *problem) {
    check_begin("a script has tests");
    check_complain(name, at_line, "%s", problem);
    check_end();
}

static inline void script_file(const char *name, FILE *rewritten) {
    FILE *file = fopen(name, "r");
    char line[SCRIPT_LINE], title[SCRIPT_LINE] = "";
    if (!file) script_fails(name, 0, "cannot be read");
    for (int at_line = 1; file && fgets(line, sizeof line, file); at_line++) {
        bool step = line[0] == ' ' && line[strspn(line, " \n")] != '#';
        if (step && !*title) script_fails(name, at_line, "a step without a title");
        else if (step) script_step(name, at_line, line, rewritten);
        else if (rewritten) fputs(line, rewritten);
        if (line[0] == ' ' || line[0] == '#' || line[0] == '\n') continue;
        if (*title) check_end();
        script_trim(line);
        strcpy(title, line);
        check_begin(title);
        script_begin();
    }
    if (*title) check_end();
    if (file) fclose(file);
}

static inline void script_rewrite(const char *name) {
    char new_name[SCRIPT_LINE];
    snprintf(new_name, sizeof new_name, "%s.new", name);
    FILE *file = fopen(new_name, "w");
    if (!file) return;
    unsigned failed = check.failed;
    script_file(name, file);
    fclose(file);
    if (check.failed == failed) rename(new_name, name);
    else remove(new_name);
}

/* Runs the named files, or all files that match the pattern. */
static inline void script_files(int argc, char **argv, const char *pattern) {
    bool rewrites = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    glob_t found = {0};
    if (argc <= 1 && glob(pattern, 0, NULL, &found) != 0)
        script_fails(pattern, 0, "there is no such file");
    for (size_t i = 0; i < found.gl_pathc; i++) script_file(found.gl_pathv[i], NULL);
    for (int i = rewrites ? 2 : 1; i < argc; i++) {
        if (rewrites) script_rewrite(argv[i]);
        else script_file(argv[i], NULL);
    }
    globfree(&found);
}

static inline int script_main(int argc, char **argv, const char *pattern) {
    script_files(argc, argv, pattern);
    return check_report();
}

#endif
