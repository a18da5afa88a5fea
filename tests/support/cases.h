/* SPDX-License-Identifier: MIT */
/*
 * cases.h - the folders tests/cases/accepted/<claim> and refused/<claim>:
 * request.json is what is posted, reply.json or problem.json what has to come
 * back. Replies are compared by value; of a problem the members that are
 * given, and that `detail` holds each of the words listed.
 */
#ifndef CASES_H
#define CASES_H

#include <stddef.h>

#include <jansson.h>

struct a_case {
    char claim[128];
    char *request;
    size_t length;
    json_t *expected;
};

/* Calls check for each case of the kind, "accepted" or "refused"; fails if
 * there are less than `least`. */
void cases_each(const char *kind, int least,
                void (*check)(const struct a_case *c));

/* Fails the test unless the reply's text is as expected; warnings are looked
 * at only where they are made, which is in the daemon. */
void cases_check_reply(const struct a_case *c, const char *reply,
                       int with_warnings);

/* Fails the test unless the problem's text is as expected. */
void cases_check_problem(const struct a_case *c, const char *problem);

#endif
