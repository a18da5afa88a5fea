/* SPDX-License-Identifier: MIT */
/*
 * route - one table: method, path, how errors are told, and who answers. HEAD
 * goes wherever GET does; OPTIONS is answered everywhere. Reads r->method and
 * r->path, sets r->route, r->head or r->fault. A new endpoint is one row.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "request.h"

enum dialect { DIALECT_PROBLEM, DIALECT_V2 };

struct route {
    const char *method;
    const char *path;
    enum dialect dialect;
    bool probe;           /* health and metrics: reserve, not logged */
    /* a side room that answers at once; NULL: the walk */
    void (*answer)(struct request *r, struct answer *a);
};

enum problem route(struct request *r);

/* "GET, HEAD, OPTIONS" for this path, or NULL if there is none. */
const char *route_allow(const char *path);

/* The table's paths, one for each row; route_index(NULL) is their number. */
const char *const *route_paths(int *count);
int route_index(const struct route *route);

/* What /info tells; before the first request. */
void route_facts(const struct answer_facts *facts);

#endif
