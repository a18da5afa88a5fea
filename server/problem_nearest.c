/* SPDX-License-Identifier: MIT */
/*
 * problem_nearest - the name that was probably meant. Two names are as far
 * apart as the letters that have to be put in, left out, changed or swapped
 * to turn one into the other; case, '_' and '-' cost nothing. A name that
 * stands inside the word, or the word inside it, is near whatever else there
 * is: `attn_mask` means `mask`.
 */
#include <string.h>

#include "problem.h"

enum { WORD_MAX = 40, FAR = 1000 };

struct word {
    char text[WORD_MAX + 1];
    size_t length;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool simplify(struct word *w, const char *text, size_t n)
{
    w->length = 0;
    if (n > WORD_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '_' && text[i] != '-')
            w->text[w->length++] = lower(text[i]);
    }
    w->text[w->length] = '\0';
    return w->length > 0 && strlen(w->text) == w->length;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* d[i][j] = distance of the first i letters of a and the first j of b. */
static int distance(const struct word *a, const struct word *b)
{
    int d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a->length; i++)
        d[i][0] = (int)i;
    for (size_t j = 0; j <= b->length; j++)
        d[0][j] = (int)j;

    for (size_t i = 1; i <= a->length; i++) {
        for (size_t j = 1; j <= b->length; j++) {
            const char *s = a->text + i - 1, *t = b->text + j - 1;
            int best = least(d[i - 1][j], d[i][j - 1]) + 1;
            best = least(best, d[i - 1][j - 1] + (*s != *t));
            if (i > 1 && j > 1 && *s == t[-1] && s[-1] == *t)
                best = least(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    }
    return d[a->length][b->length];
}

/* Three times the distance, so that "stands inside" may lie between. */
static int cost(const struct word *word, const struct word *name)
{
    int far = distance(word, name);
    int allowed = (int)(word->length + 2) / 3;
    int best = far <= allowed && far < (int)name->length ? 3 * far : FAR;
    const struct word *longer = word->length > name->length ? word : name;
    const struct word *shorter = longer == word ? name : word;

    if (shorter->length >= 3 && strstr(longer->text, shorter->text))
        best = least(best, 4 + (int)(longer->length - shorter->length) / 4);
    return best;
}

const char *problem_nearest(const char *word, size_t length,
                            const char *const *names, size_t n)
{
    struct word given, name;
    const char *nearest = NULL;
    int best = FAR;

    if (!simplify(&given, word, length))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!simplify(&name, names[i], strlen(names[i])))
            continue;
        int c = cost(&given, &name);
        if (c < best) {
            best = c;
            nearest = names[i];
        }
    }
    return nearest;
}
