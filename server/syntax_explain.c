/* SPDX-License-Identifier: MIT */
/*
 * syntax_explain - see syntax_explain.h. Advice is looked up in three tables:
 * by the first bytes of a body that was never meant to be JSON, by the word
 * that stands at the fault, and by single bytes. What none of them knows is
 * told what JSON would have had there.
 */
#include "syntax_explain.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "quote.h"

/* Bytes shown on each side of the fault; a run of blanks counts as one. */
enum { SHOWN_BYTES = 28 };

/* What stands around the fault, in one line. */
struct around {
    char text[2 * SHOWN_BYTES + 1];
    size_t at, length;      /* of the byte at fault; of all */
    bool cut_before, cut_behind;
    enum syntax_expected expected;
    char previous;          /* the byte in front, and the last no blank; */
    char last;              /* 0: there is none */
};

/* -------------------------------------------------------------- excerpt */

static char in_line(char c)
{
    return syntax_is_space(c) ? ' ' : c;
}

static void add_before(struct around *a, const struct syntax_check *c)
{
    const char *first = c->bad - c->text < SYNTAX_RECENT_BYTES
                      ? c->text : c->bad - (SYNTAX_RECENT_BYTES - 1);
    char line[SYNTAX_RECENT_BYTES];
    size_t n = 0;

    for (const char *p = first; p < c->bad; p++) {
        char byte = c->recent[(p - c->text) % SYNTAX_RECENT_BYTES];
        a->previous = byte;
        a->last = syntax_is_space(byte) ? a->last : byte;
        if (n == 0 || in_line(byte) != ' ' || line[n - 1] != ' ')
            line[n++] = in_line(byte);
    }
    size_t skipped = n > SHOWN_BYTES ? n - SHOWN_BYTES : 0;
    while (skipped > 0 && skipped < n && (line[skipped] & 0xc0) == 0x80)
        skipped++;      /* not from the middle of a character */
    a->cut_before = first > c->text || skipped > 0;
    a->at = a->length = n - skipped;
    memcpy(a->text, line + skipped, a->length);
}

static void add_behind(struct around *a, const struct syntax_check *c)
{
    const char *p = c->bad;
    const char *end = syntax_within(p, c->end, SYNTAX_RECENT_BYTES);

    for (; p < end && a->length - a->at < SHOWN_BYTES; p++) {
        bool blank = in_line(*p) == ' ';
        if (p == c->bad || !blank || a->text[a->length - 1] != ' ')
            a->text[a->length++] = in_line(*p);
    }
    a->cut_behind = p < c->end;
    a->text[a->length] = '\0';
}

static void look_around(struct around *a, const struct syntax_check *c)
{
    *a = (struct around){.expected = syntax_check_expected(c)};
    add_before(a, c);
    add_behind(a, c);
}

static void name_byte(char out[16], char byte)
{
    if (byte == ' ' || byte == '\t')
        strcpy(out, byte == ' ' ? "blank" : "tab");
    else if (byte == '\n' || byte == '\r')
        strcpy(out, "line break");
    else if (byte > 0x20 && byte < 0x7f)
        sprintf(out, "`%c`", byte);
    else
        sprintf(out, "byte 0x%02X", (unsigned char)byte);
}

/* ------------------------------------------- bodies that are no JSON at all */

#define STARTS(bytes, advice) {bytes, sizeof bytes - 1, advice}
#define UTF_16 "This is UTF-16: send the text as UTF-8."

static const struct {
    const char *bytes;
    size_t n;
    const char *advice;
} beginnings[] = {
    STARTS("\xff\xfe", UTF_16), STARTS("\xfe\xff", UTF_16),
    STARTS("{\0", UTF_16), STARTS("\0{", UTF_16), STARTS("[\0", UTF_16),
    STARTS("\0[", UTF_16),
    STARTS("\x93NUMPY", "This is a .npy file of NumPy: send the numbers as "
           "JSON (array.tolist())."),
    STARTS("PK\3\4", "This is a zip or npz file: send the numbers as JSON "
           "(array.tolist())."),
    STARTS("\x1f\x8b", "This is gzip: declare it as Content-Encoding: gzip."),
    STARTS("\x80", "This is a pickle of Python: send JSON (json.dumps)."),
    STARTS("<", "This is HTML or XML: send JSON."),
    STARTS("%7B", "This is percent-encoded: send the JSON as it is."),
    STARTS("'", "The body begins with a single quote, which the Windows "
           "command line passes on: put the JSON in a file and use curl -d "
           "@body.json."),
    STARTS("@", "curl reads a file with -d @body.json; any other client has "
           "to send what is in the file."),
};

/* Q=..., as HTML forms are written. */
static bool is_form(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                            "WXYZ0123456789_.-[]%");
    return n > 0 && text[n] == '=';
}

static bool is_file_name(const char *text)
{
    return strcspn(text, " {[\":,") == strlen(text) &&
           (strcasestr(text, ".json") || strchr("./~", *text));
}

static const char *of_beginning(const struct around *a)
{
    if (a->cut_before || a->at > 5)
        return NULL;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        if (a->length >= beginnings[i].n &&
            memcmp(a->text, beginnings[i].bytes, beginnings[i].n) == 0)
            return beginnings[i].advice;
    }
    if (is_form(a->text))
        return "This is a form: send one JSON object (Python's requests: "
               "json=, not data=).";
    if (is_file_name(a->text))
        return "This is the name of a file: curl reads a file with -d "
               "@body.json.";
    return NULL;
}

/* ---------------------------------------------------------------- words */

#define PRINTED "Python prints arrays like this; JSON has lists: send " \
                "x.tolist()."
#define LOWER_CASE "JSON writes true, false and null in lower case (Python: " \
                   "json.dumps)."

static const struct {
    const char *word, *advice, *behind_minus;
} words[] = {
    {"NaN", "JSON has no NaN: in a tensor, write the string \"NaN\".", NULL},
    {"Infinity", "JSON has no Infinity: in a tensor, write the string "
     "\"Infinity\".", "JSON has no -Infinity: in a tensor, write the string "
     "\"-Infinity\", or hide keys by `mask`."},
    {"None", "JSON writes null (Python: json.dumps); leave out what is not "
     "given.", NULL},
    {"undefined", "JSON has no undefined: leave the member out.", NULL},
    {"nil", "JSON writes null; leave out what is not given.", NULL},
    {"true", LOWER_CASE, NULL}, {"false", LOWER_CASE, NULL},
    {"null", LOWER_CASE, NULL},
    {"array", PRINTED, NULL}, {"tensor", PRINTED, NULL}, {"np", PRINTED, NULL},
    {"torch", PRINTED, NULL},
};

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* The word that the fault is in or at the beginning of. */
static const char *word_at(const struct around *a, size_t *n)
{
    const char *first = a->text + a->at, *end = first;

    while (first > a->text && is_letter(first[-1]))
        first--;
    while (is_letter(*end))
        end++;
    *n = (size_t)(end - first);
    return first;
}

static const char *of_word(const struct around *a)
{
    size_t n;
    const char *word = word_at(a, &n);
    bool minus = word > a->text && word[-1] == '-';

    if (n == 3 && strncasecmp(word, "inf", n) == 0)
        n = strlen(word = "Infinity");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == n &&
            strncasecmp(word, words[i].word, n) == 0)
            return minus && words[i].behind_minus ? words[i].behind_minus
                                                  : words[i].advice;
    }
    return NULL;
}

/* ---------------------------------------------------------------- bytes */

#define AT(what) (1u << SYNTAX_##what)
#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define POINT "A number has digits on both sides of its point, as 0.5 and 1.0."
#define NO_COMMA "A comma is missing here"
#define NOT_UTF_8 "The text is not UTF-8."

/* The first row that fits: the byte, what could have stood there, the byte in
 * front, the last one in front that is no blank; NULL is any. */
static const struct {
    const char *bytes;
    unsigned expected;
    const char *previous, *last, *advice;
} bytes[] = {
    {"'", AT(VALUE) | AT(NAME) | AT(COMMA), NULL, NULL,
     "JSON puts names and strings in double quotes (Python: json.dumps)."},
    {"/#", AT(VALUE) | AT(NAME) | AT(COLON) | AT(COMMA) | AT(END), NULL, NULL,
     "JSON has no comments."},
    {"]}", AT(VALUE) | AT(NAME), NULL, ",", "Leave out the comma before it."},
    {",", AT(VALUE) | AT(NAME), NULL, NULL,
     "Something is missing before this comma, or it is one too many."},
    {".", AT(VALUE), NULL, NULL, POINT},
    {" ", AT(DIGIT), ".", NULL, "A number has digits on both sides of its "
     "point, and a comma behind it (NumPy prints neither: send "
     "array.tolist())."},
    {NULL, AT(DIGIT), ".", NULL, POINT},
    {"+", AT(VALUE), NULL, NULL, "A number has no + in front."},
    {"(", AT(VALUE), NULL, NULL, "JSON writes lists with [ and ]."},
    {DIGITS, AT(COMMA), "0", NULL, "A number has no zeros in front."},
    {LETTERS, AT(COMMA), DIGITS ".", NULL,
     "A number is written in decimal digits, as 12.5 or 1.25e1."},
    {DIGITS "-.+", AT(COMMA), NULL, DIGITS "]",
     NO_COMMA " (NumPy prints none: send array.tolist())."},
    {"\"[{" LETTERS, AT(COMMA), NULL, NULL, NO_COMMA "."},
    {LETTERS, AT(NAME), NULL, NULL, "Names stand in double quotes."},
    {"\n\r\t", AT(CHARACTER), NULL, NULL, "Line breaks and tabs in a string "
     "are written \\n, \\r and \\t."},
};

static bool is_one_of(const char *set, char c)
{
    return !set || (c != '\0' && strchr(set, c));
}

static const char *of_byte(const struct around *a, char byte)
{
    if (a->expected < SYNTAX_CHARACTER &&
        strncmp(a->text + a->at, "...", 3) == 0)
        return "Numbers were left out where NumPy printed them: send "
               "array.tolist().";
    if ((unsigned char)byte >= 0x80)
        return strncmp(a->text + a->at, "\xe2\x80\x9c", 3) == 0 ||
                       strncmp(a->text + a->at, "\xe2\x80\x9d", 3) == 0
             ? "JSON has plain double quotes, not curved ones."
             : a->expected == SYNTAX_CHARACTER ? NOT_UTF_8 : NULL;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        if (is_one_of(bytes[i].bytes, byte) &&
            (bytes[i].expected & 1u << a->expected) &&
            is_one_of(bytes[i].previous, a->previous) &&
            is_one_of(bytes[i].last, a->last))
            return bytes[i].advice;
    }
    return NULL;
}

static const char *what_was_expected(const struct around *a, int64_t open,
                                     char kind)
{
    static const char *const texts[] = {
        [SYNTAX_VALUE] = "A value is expected: a number, a string, a list, "
                         "true, false or null.",
        [SYNTAX_NAME] = "A name in double quotes is expected.",
        [SYNTAX_COLON] = "A colon is expected behind a name.",
        [SYNTAX_COMMA] = "A comma or `}` is expected.",
        [SYNTAX_DIGIT] = "A digit is expected.",
        [SYNTAX_WORD] = "A value is expected: a number, a string, a list, "
                        "true, false or null.",
        [SYNTAX_CHARACTER] = "In a string it is written as \\u and four "
                             "hexadecimal digits.",
        [SYNTAX_UTF_8] = NOT_UTF_8,
        [SYNTAX_ESCAPE] = "In a string one of \" \\ / b f n r t, or u and "
                          "four hexadecimal digits, follows a backslash.",
        [SYNTAX_END] = "One JSON object is expected, and it has ended before.",
    };
    if (a->expected == SYNTAX_COMMA && kind == '[')
        return "A comma or `]` is expected.";
    if (a->expected == SYNTAX_VALUE && open == 0)
        return "One JSON object is expected, and begins with `{`.";
    return texts[a->expected];
}

/* --------------------------------------------------------------- faults */

static void quote_around(char out[], size_t size, const struct around *a)
{
    size_t n = (size_t)snprintf(out, size, a->cut_before ? "..." : "");
    n += quote(out + n, size - n - 3, a->text, a->length);
    strcpy(out + n, a->cut_behind ? "..." : "");
}

static void wrong_byte(const struct syntax_check *c, const struct around *a,
                       struct fault *fault)
{
    char near[QUOTE_GROWTH * sizeof a->text + 8], byte[16], kind;
    int64_t open = syntax_check_open(c, &kind);
    const char *advice = of_beginning(a);

    if (!advice && a->expected < SYNTAX_CHARACTER)
        advice = of_word(a);
    if (!advice)
        advice = of_byte(a, *c->bad);
    if (!advice)
        advice = what_was_expected(a, open, kind);
    quote_around(near, sizeof near, a);
    name_byte(byte, *c->bad);
    fault_set(fault, PROBLEM_NOT_JSON, NULL, "The body is not JSON: "
              "unexpected %s at line %lld, column %lld, near `%s`. %s", byte,
              (long long)c->line, (long long)syntax_check_column(c), near,
              advice);
}

static void too_early(const struct syntax_check *c, const struct around *a,
                      struct fault *fault)
{
    char near[QUOTE_GROWTH * sizeof a->text + 8], kind;
    long long open = (long long)syntax_check_open(c, &kind);
    bool in_string = a->expected == SYNTAX_CHARACTER ||
                     a->expected == SYNTAX_UTF_8 ||
                     a->expected == SYNTAX_ESCAPE;

    quote_around(near, sizeof near, a);
    fault_set(fault, PROBLEM_NOT_JSON, NULL, "The body is not JSON: the text "
              "ends too early, at line %lld, column %lld, after `%s`. %s%lld "
              "%s.", (long long)c->line, (long long)syntax_check_column(c),
              near, in_string ? "A string is not closed. " : "", open,
              open == 1 ? "bracket is not closed" : "brackets are not closed");
}

void syntax_explain(const struct syntax_check *c, struct fault *fault)
{
    long long line = (long long)c->line;
    long long column = (long long)syntax_check_column(c);
    struct around a;

    look_around(&a, c);
    if (c->deep)
        fault_set(fault, PROBLEM_NOT_JSON, NULL, "The body is not JSON: "
                  "brackets nest too deeply, at line %lld, column %lld.", line,
                  column);
    else if (c->bad < c->end)
        wrong_byte(c, &a, fault);
    else if (a.last != '\0' || a.cut_before)
        too_early(c, &a, fault);
    else
        fault_set(fault, PROBLEM_NOT_JSON, NULL, "The body is %s (line %lld, "
                  "column %lld): send one JSON object, {\"Q\": ..., \"K\": "
                  "..., \"V\": ...}.", a.length > 0 ? "blank" : "empty", line,
                  column);
    fault->line = c->line;
    fault->column = syntax_check_column(c);
}
