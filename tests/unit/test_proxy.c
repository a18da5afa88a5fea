/* SPDX-License-Identifier: MIT */
/*
 * test_proxy.c - whose word is taken, and what it says.
 */
#include <string.h>

#include "proxy.h"
#include "suite.h"

static struct address address(const char *text)
{
    struct address a;

    ck_assert_msg(address_read(text, strlen(text), &a), "%s", text);
    return a;
}

static bool is_trusted(const char *text)
{
    struct address a = address(text);

    return proxy_is_trusted(&a);
}

START_TEST(networks_are_trusted_and_nothing_beside_them)
{
    ck_assert(proxy_trust("10.0.0.0/8, 192.0.2.7 ,2001:db8::/33,::1"));
    ck_assert(is_trusted("10.255.0.1"));
    ck_assert(!is_trusted("11.0.0.0"));
    ck_assert(is_trusted("::ffff:10.0.0.1"));
    ck_assert(!is_trusted("::10.0.0.1"));
    ck_assert(is_trusted("192.0.2.7"));
    ck_assert(!is_trusted("192.0.2.6"));
    ck_assert(is_trusted("2001:db8:7fff::1"));
    ck_assert(!is_trusted("2001:db8:8000::1"));
    ck_assert(is_trusted("::1"));
    ck_assert(!is_trusted("::2"));
    ck_assert(proxy_trust("none"));
    ck_assert(!is_trusted("::1"));
    ck_assert(proxy_trust("10.1.2.3/8"));
    ck_assert(is_trusted("10.0.0.0"));
    ck_assert(proxy_trust("0.0.0.0/0"));
    ck_assert(is_trusted("10.0.0.0"));
    ck_assert(!is_trusted("::1"));
    ck_assert(proxy_trust("::/0"));
    ck_assert(is_trusted("10.0.0.0"));
}
END_TEST

START_TEST(malformed_lists_are_refused)
{
    static const char *const lists[] = {
        "", ",", "10.0.0.0/8,", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
        "10.0.0.0/8/8", "10.0.0.0/0x8", "10.0.0.0/8 9", "10.0.0", "::1/129",
        "[::1]", "proxy.example", "10.0.0.1:80", "10.0.0.0 /8",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd"
    };
    char many[1024] = "::1";

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ck_assert_msg(!proxy_trust(lists[i]), "\"%s\"", lists[i]);
    for (int i = 1; i < 64; i++)
        strcat(many, ",::1");
    ck_assert(proxy_trust(many));
    ck_assert(!proxy_trust(strcat(many, ",::1")));
}
END_TEST

/* Lines, and who asks; NULL: the peer itself. */
START_TEST(client_is_the_last_address_that_is_not_trusted)
{
    static const struct { const char *line[3], *client; } cases[] = {
        { { "192.0.2.1" }, "192.0.2.1" },
        { { " 192.0.2.1\t" }, "192.0.2.1" },
        { { "192.0.2.1, 192.0.2.2" }, "192.0.2.2" },
        { { "192.0.2.1, 10.0.0.9" }, "192.0.2.1" },
        { { "192.0.2.1,10.0.0.9 , 10.0.0.8" }, "192.0.2.1" },
        { { "192.0.2.1", "192.0.2.2" }, "192.0.2.2" },
        { { "192.0.2.1, 192.0.2.2", "10.0.0.9", "10.0.0.8" }, "192.0.2.2" },
        { { "10.0.0.9, 10.0.0.8" }, "10.0.0.9" },
        { { "192.0.2.1:5678" }, "192.0.2.1" },
        { { "[2001:db8::1]:5678" }, "2001:db8::1" },
        { { "[2001:db8::1]" }, "2001:db8::1" },
        { { "2001:db8::1" }, "2001:db8::1" },
        { { "::ffff:192.0.2.1" }, "192.0.2.1" },
        { { "junk, 192.0.2.1" }, "192.0.2.1" },
        { { "junk", "192.0.2.1, 10.0.0.9" }, "192.0.2.1" },
        { { "192.0.2.1, junk" }, NULL },
        { { "192.0.2.1, junk, 10.0.0.9" }, NULL },
        { { "192.0.2.1," }, NULL },
        { { "" }, NULL },
        { { NULL }, NULL },
        { { "unknown" }, NULL },
        { { "192.0.2.1:" }, NULL },
        { { "192.0.2.1:x" }, NULL },
        { { "192.0.2.1:123456" }, NULL },
        { { "[2001:db8::1" }, NULL },
        { { "[2001:db8::1]80" }, NULL },
        { { "192.0.2.01" }, NULL },
        { { "192.0.2" }, NULL },
        { { "fe80::1%eth0" }, NULL }
    };

    ck_assert(proxy_trust("10.0.0.0/8"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct proxy_forwarded f = { .any = false };
        char text[ADDRESS_TEXT_MAX] = "";

        for (int k = 0; k < 3 && cases[i].line[k] != NULL; k++)
            proxy_read(&f, cases[i].line[k]);
        if (f.known)
            address_print(&f.address, text);
        ck_assert_msg(strcmp(text, cases[i].client != NULL ? cases[i].client
                                                           : "") == 0,
                      "case %zu: \"%s\"", i, text);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        networks_are_trusted_and_nothing_beside_them,
        malformed_lists_are_refused,
        client_is_the_last_address_that_is_not_trusted,
        NULL
    };

    return suite_run("proxy", tests, NULL, NULL, 20);
}
