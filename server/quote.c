/* SPDX-License-Identifier: MIT */
/*
 * quote - see quote.h.
 */
#include "quote.h"

#include <stdio.h>
#include <string.h>

size_t quote_utf8(const char *text, const char *end)
{
    static const struct {
        unsigned char first, last, low, high;
        size_t length;
    } rows[] = {
        {0x00, 0x7f, 0x80, 0xbf, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0, most = sizeof rows / sizeof *rows;

    while (i < most && (text == end || s[0] < rows[i].first ||
                        s[0] > rows[i].last))
        i++;
    if (i == most || (size_t)(end - text) < rows[i].length)
        return 0;
    for (size_t k = 1; k < rows[i].length; k++) {
        if (s[k] < (k == 1 ? rows[i].low : 0x80) ||
            s[k] > (k == 1 ? rows[i].high : 0xbf))
            return 0;
    }
    return rows[i].length;
}

bool quote_is_hidden(const char *text, size_t n)
{
    static const struct {
        const char *first, *last;
    } rows[] = {
        {"\xc2\x80", "\xc2\x9f"},         {"\xe2\x80\x8b", "\xe2\x80\x8f"},
        {"\xe2\x80\xa8", "\xe2\x80\xae"}, {"\xe2\x81\xa0", "\xe2\x81\xaf"},
        {"\xef\xbb\xbf", "\xef\xbb\xbf"},
    };
    if (n == 1)
        return (unsigned char)*text < 0x20 || *text == 0x7f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].first) == n && memcmp(text, rows[i].first, n) >= 0
            && memcmp(text, rows[i].last, n) <= 0)
            return true;
    }
    return false;
}

size_t quote(char *out, size_t size, const char *text, size_t n)
{
    const char *end = text + n;
    size_t length = 0;

    while (text < end) {
        char one[QUOTE_GROWTH + 1];
        size_t taken = quote_utf8(text, end), written = taken;
        if (taken == 0 || quote_is_hidden(text, taken)) {
            taken = 1;
            written = (size_t)sprintf(one, "\\x%02x", (unsigned char)*text);
        } else {
            memcpy(one, text, taken);
        }
        if (length + written >= size)
            break;
        memcpy(out + length, one, written);
        length += written;
        text += taken;
    }
    if (size > 0)
        out[length] = '\0';
    return length;
}

const char *quote_name(char out[QUOTE_NAME_MAX], const char *text, size_t n)
{
    size_t shown = n;

    if (n > QUOTE_NAME_BYTES) {
        shown = QUOTE_NAME_BYTES;
        while (shown > 0 && (text[shown] & 0xc0) == 0x80)
            shown--;    /* not behind half a character */
    }
    size_t length = quote(out, QUOTE_NAME_MAX - 3, text, shown);
    if (shown < n)
        strcpy(out + length, "...");
    return out;
}

const char *quote_list(char *out, size_t size, const char *const *names,
                       size_t n)
{
    size_t length = 0;

    for (size_t i = 0; i < n && length < size; i++)
        length += (size_t)snprintf(out + length, size - length, "%s`%s`",
                                   i == 0 ? "" : i + 1 < n ? ", " : " and ",
                                   names[i]);
    return out;
}
