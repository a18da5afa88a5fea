/* SPDX-License-Identifier: MIT */
/*
 * test_client.c - no two clients share an entry, no client has two, and none
 * stays that nobody refers to.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "client.h"
#include "config.h"
#include "suite.h"

#define SECOND_NS INT64_C(1000000000)

static void setup(void)
{
    ck_assert(client_open());
    config.rate = 2;
}

static struct address address(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_of((const struct sockaddr *)&v4);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return address_of((const struct sockaddr *)&v6);
}

static struct client *find(const char *text)
{
    struct address a = address(text);

    return client_find(&a);
}

static bool is_one_client(const char *a, const char *b)
{
    struct client *first = find(a), *second = find(b);
    bool one = first == second;

    client_release(first, 0);
    client_release(second, 0);
    return one;
}

START_TEST(client_is_an_ipv4_address_or_a_64_of_ipv6)
{
    ck_assert(is_one_client("10.0.1.57", "10.0.1.57"));
    ck_assert(!is_one_client("10.0.1.57", "10.0.1.56"));
    ck_assert(is_one_client("10.0.1.57", "::ffff:10.0.1.57"));
    ck_assert(!is_one_client("10.0.1.57", "::10.0.1.57"));
    ck_assert(is_one_client("2001:db8:1:2::", "2001:db8:1:2:f:ff:fff:ffff"));
    ck_assert(!is_one_client("2001:db8:1:2::1", "2001:db8:1:3::1"));
    ck_assert(!is_one_client("::1", "::ffff:127.0.0.1"));
}
END_TEST

START_TEST(network_keeps_so_many_bits)
{
    static const struct { int bits; const char *text; } networks[] = {
        { 128, "fff:ffff:ffff:ffff:ffff:ffff:ffff:fffe" },
        { 127, "fff:ffff:ffff:ffff:ffff:ffff:ffff:fffe" },
        { 126, "fff:ffff:ffff:ffff:ffff:ffff:ffff:fffc" },
        { 64, "fff:ffff:ffff:ffff::" }, { 15, "ffe::" }, { 8, "f00::" },
        { 5, "800::" }, { 0, "" }
    };
    struct address a = address(networks[0].text);
    char text[ADDRESS_TEXT_MAX];

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        struct address network = address_network(&a, networks[i].bits);

        address_print(&network, text);
        ck_assert_str_eq(text, networks[i].text);
    }
}
END_TEST

/* More than there are chains, so that some share one. */
START_TEST(no_two_of_many_addresses_share_an_entry)
{
    enum { MANY = 200000 };
    static struct client *client[MANY];
    struct address a = address("10.0.0.0");

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++) {
            memcpy(a.byte + 12, &(uint32_t){ htonl(0x0a000000u + (unsigned)i) },
                   4);
            struct client *c = client_find(&a);

            ck_assert(memcmp(&c->address, &a, sizeof a) == 0);
            ck_assert(round == 0 || c == client[i]);
            client[i] = c;
        }
    ck_assert_int_eq(client_count(), MANY);
    for (int i = 0; i < 2 * MANY; i++)
        client_release(client[i % MANY], 0);
    ck_assert_int_eq(client_count(), 0);
}
END_TEST

START_TEST(client_is_remembered_until_it_may_make_a_burst_again)
{
    struct client *c = find("10.0.0.1");
    struct client *other = find("10.0.0.2");

    ck_assert_double_eq(client_must_wait_s(c, 0), 0);
    ck_assert_double_eq(client_must_wait_s(c, 0), 0);
    ck_assert_double_eq(client_must_wait_s(c, 0), 0.5);
    ck_assert_double_eq(client_must_wait_s(other, 0), 0);
    client_release(c, SECOND_NS / 2);
    ck_assert_int_eq(client_count(), 2);
    c = find("10.0.0.1");
    ck_assert_double_eq(client_must_wait_s(c, 0), 0.5);
    client_release(c, SECOND_NS / 2);
    client_release(other, SECOND_NS);
    ck_assert_int_eq(client_count(), 0);
}
END_TEST

START_TEST(entry_stays_for_as_long_as_anybody_refers_to_it)
{
    struct client *c = find("::1");

    ck_assert_ptr_eq(client_refer(c), c);
    client_release(c, 0);
    ck_assert_ptr_eq(find("::1"), c);
    client_release(c, 0);
    ck_assert_int_eq(client_count(), 1);
    client_release(c, 0);
    ck_assert_int_eq(client_count(), 0);
}
END_TEST

START_TEST(remembered_clients_are_bounded)
{
    struct address a = address("2001:db8::");

    for (unsigned i = 0; i < CLIENT_RESTING_MAX + 1000; i++) {
        memcpy(a.byte + 4, &i, sizeof i);
        struct client *c = client_find(&a);

        ck_assert_double_eq(client_must_wait_s(c, 0), 0);
        client_release(c, 0);
    }
    ck_assert_int_eq(client_count(), CLIENT_RESTING_MAX);
    for (unsigned i = 0; i < CLIENT_RESTING_MAX; i++)
        client_release(find("10.0.0.1"), SECOND_NS);
    ck_assert_int_eq(client_count(), 0);
}
END_TEST

START_TEST(least_rate_is_within_what_a_clock_can_count)
{
    struct client *c = find("10.0.0.1");

    config.rate = 1e-6;
    ck_assert_double_eq(client_must_wait_s(c, 0), 0);
    ck_assert_double_eq_tol(client_must_wait_s(c, 0), 1e6, 1e-3);
    client_release(c, INT64_MAX);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        client_is_an_ipv4_address_or_a_64_of_ipv6,
        network_keeps_so_many_bits,
        no_two_of_many_addresses_share_an_entry,
        client_is_remembered_until_it_may_make_a_burst_again,
        entry_stays_for_as_long_as_anybody_refers_to_it,
        remembered_clients_are_bounded,
        least_rate_is_within_what_a_clock_can_count,
        NULL
    };

    return suite_run("client", tests, setup, NULL, 60);
}
