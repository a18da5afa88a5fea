/* SPDX-License-Identifier: MIT */
/*
 * route - see route.h.
 */
#include "route.h"

#include <stdio.h>
#include <string.h>

#include "header.h"
#include "watch.h"

static const struct answer_facts *facts;   /* constant after start */

void route_facts(const struct answer_facts *given)
{
    facts = given;
}

/* ----------------------------------------------------------- side rooms */

static enum answer_state state(void)
{
    switch (watch_life()) {
    case LIFE_STARTING:
        return ANSWER_STARTING;
    case LIFE_SERVING:
        return ANSWER_READY;
    default:
        return ANSWER_DRAINING;
    }
}

static void live(struct request *r, struct answer *a)
{
    (void)r;
    answer_livez(a);
}

static void ready(struct request *r, struct answer *a)
{
    (void)r;
    answer_readyz(a, state(), facts->warning);
}

static void metrics(struct request *r, struct answer *a)
{
    (void)r;
    answer_metrics(a);
}

static void info(struct request *r, struct answer *a)
{
    (void)r;
    answer_info(a, facts, state());
}

static void page(struct request *r, struct answer *a)
{
    answer_page(a, r->headers.value[HEADER_ACCEPT],
                r->headers.value[HEADER_HOST]);
}

static void openapi_yaml(struct request *r, struct answer *a)
{
    (void)r;
    answer_openapi_yaml(a);
}

static void openapi_json(struct request *r, struct answer *a)
{
    (void)r;
    answer_openapi_json(a);
}

static void options(struct request *r, struct answer *a)
{
    (void)r;
    *a = (struct answer){ .status = 204 };
}

/* ---------------------------------------------------------------- table */

static const struct route table[] = {
    { "POST", "/attention", DIALECT_PROBLEM, false, NULL },
    { "GET", "/livez", DIALECT_PROBLEM, true, live },
    { "GET", "/readyz", DIALECT_PROBLEM, true, ready },
    { "GET", "/healthz", DIALECT_PROBLEM, true, ready },
    { "GET", "/metrics", DIALECT_PROBLEM, true, metrics },
    { "GET", "/info", DIALECT_PROBLEM, false, info },
    { "GET", "/openapi.yaml", DIALECT_PROBLEM, false, openapi_yaml },
    { "GET", "/openapi.json", DIALECT_PROBLEM, false, openapi_json },
    { "GET", "/", DIALECT_PROBLEM, false, page },
};
static const struct route route_options = { "OPTIONS", "*", DIALECT_PROBLEM,
                                            false, options };

#define ROUTES ((int)(sizeof table / sizeof *table))

const char *const *route_paths(int *count)
{
    static const char *paths[ROUTES];

    for (int i = 0; i < ROUTES; i++)
        paths[i] = table[i].path;
    *count = ROUTES;
    return paths;
}

int route_index(const struct route *route)
{
    return route == NULL || route == &route_options ? ROUTES
                                                    : (int)(route - table);
}

/* First row of a path: enough to know what else is allowed there. */
static const struct route *find(const char *path)
{
    for (int i = 0; i < ROUTES; i++)
        if (strcmp(table[i].path, path) == 0)
            return &table[i];
    return NULL;
}

const char *route_allow(const char *path)
{
    const struct route *row = find(path);

    if (strcmp(path, "*") == 0)
        return "GET, HEAD, POST, OPTIONS";
    if (row == NULL)
        return NULL;
    return strcmp(row->method, "GET") == 0 ? "GET, HEAD, OPTIONS"
                                           : "POST, OPTIONS";
}

/* ------------------------------------------------------------- refusals */

static enum problem refuse_path(struct request *r)
{
    int count;
    const char *const *paths = route_paths(&count);
    const char *near = problem_nearest(r->path, strlen(r->path), paths,
                                       (size_t)count);

    if (near != NULL)
        return fault_set(&r->fault, PROBLEM_NOT_FOUND, NULL,
                         "There is no %.100s: did you mean %s?", r->path,
                         near);
    return fault_set(&r->fault, PROBLEM_NOT_FOUND, NULL, "There is no %.100s; "
                     "attention is computed by POST /attention, and GET / "
                     "tells more.", r->path);
}

enum problem route(struct request *r)
{
    const struct route *row = find(r->path);

    if (strcmp(r->method, "OPTIONS") == 0
        && (row != NULL || strcmp(r->path, "*") == 0)) {
        r->route = &route_options;
        return PROBLEM_NONE;
    }
    if (row == NULL)
        return refuse_path(r);
    r->head = strcmp(r->method, "HEAD") == 0;
    if (strcmp(r->method, row->method) != 0
        && !(r->head && strcmp(row->method, "GET") == 0))
        return fault_set(&r->fault, PROBLEM_METHOD, NULL, "%s takes %s, not "
                         "%.40s.%s", r->path, route_allow(r->path), r->method,
                         strcmp(r->method, "POST") == 0
                         ? " Attention is computed by POST /attention." : "");
    r->route = row;
    return PROBLEM_NONE;
}
