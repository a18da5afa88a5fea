/* SPDX-License-Identifier: MIT */
/*
 * test_quote.c - bytes of strangers in sentences: nothing reaches a terminal
 * that it would obey, and nothing is cut into halves.
 */
#include "suite.h"

#include <string.h>

#include "quote.h"

static void expect(const char *text, size_t n, const char *quoted)
{
    char out[256];
    size_t length = quote(out, sizeof out, text, n);
    ck_assert_str_eq(out, quoted);
    ck_assert_uint_eq(length, strlen(quoted));
}

START_TEST(what_can_be_seen_is_shown_as_it_is)
{
    static const char text[] = "a \"b\" \\ ~ \xc3\xa9 \xe2\x82\xac "
                               "\xf0\x9f\x98\x80";
    expect(text, strlen(text), text);
    expect("", 0, "");
}
END_TEST

START_TEST(what_a_terminal_obeys_or_hides_is_written_as_numbers)
{
    static const char *const rows[][2] = {
        {"\x1b[31m", "\\x1b[31m"}, {"\n\t\x7f", "\\x0a\\x09\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"}, {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
        {"\xe2\x80\xa8", "\\xe2\\x80\\xa8"},
        {"\xef\xbb\xbf", "\\xef\\xbb\\xbf"},
        {"\xe2\x80\x9c", "\xe2\x80\x9c"}, {"\xc2\xa0", "\xc2\xa0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i][0], strlen(rows[i][0]), rows[i][1]);
    expect("a\0b", 3, "a\\x00b");
}
END_TEST

START_TEST(what_is_not_utf_8_is_written_as_numbers)
{
    static const char *const rows[][2] = {
        {"\x80", "\\x80"}, {"\xc1\xbf", "\\xc1\\xbf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, {"\xc3(", "\\xc3("},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"}, {"\xff" "a", "\\xffa"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i][0], strlen(rows[i][0]), rows[i][1]);
    expect("\xe2\x82\xac", 2, "\\xe2\\x82");
}
END_TEST

START_TEST(quoting_stays_within_every_size_and_cuts_nothing_in_two)
{
    static const char text[] = "ab\x1b\xe2\x82\xac\xff.";
    for (size_t size = 1; size < 24; size++) {
        char out[32];
        memset(out, '#', sizeof out);
        size_t n = quote(out, size, text, strlen(text));
        ck_assert_uint_lt(n, size);
        ck_assert_int_eq(out[n], '\0');
        ck_assert_int_eq(out[size], '#');
        ck_assert(n == 0 || (out[n - 1] & 0xc0) != 0x80 || n >= 9);
    }
}
END_TEST

START_TEST(a_long_name_ends_in_dots)
{
    char out[QUOTE_NAME_MAX], name[200];
    memset(name, 'n', sizeof name);
    ck_assert_uint_eq(strlen(quote_name(out, name, 64)), 64);
    ck_assert_str_eq(quote_name(out, name, sizeof name) + 60, "nnnn...");
    memset(name, '\x01', sizeof name);
    ck_assert_uint_eq(strlen(quote_name(out, name, sizeof name)),
                      sizeof out - 1);
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = "\xc3\xa9"[i % 2];
    ck_assert_str_eq(quote_name(out, name + 1, 150) + 4, "\xc3\xa9" "\xc3\xa9"
        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
        "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9...");
}
END_TEST

START_TEST(names_are_listed_as_a_sentence_does)
{
    static const char *const names[] = {"a", "b", "c"};
    char out[64];
    ck_assert_str_eq(quote_list(out, sizeof out, names, 1), "`a`");
    ck_assert_str_eq(quote_list(out, sizeof out, names, 2), "`a` and `b`");
    ck_assert_str_eq(quote_list(out, sizeof out, names, 3),
                     "`a`, `b` and `c`");
    quote_list(out, 6, names, 3);
    ck_assert_uint_lt(strlen(out), 6);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_can_be_seen_is_shown_as_it_is,
        what_a_terminal_obeys_or_hides_is_written_as_numbers,
        what_is_not_utf_8_is_written_as_numbers,
        quoting_stays_within_every_size_and_cuts_nothing_in_two,
        a_long_name_ends_in_dots,
        names_are_listed_as_a_sentence_does,
        NULL};
    return suite_run("quote", tests, NULL, NULL, 10);
}
