/* SPDX-License-Identifier: MIT */
/*
 * posted.c - see posted.h.
 */
#include "posted.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "fields.h"
#include "form.h"

static void load_settings(void)
{
    char *program[] = {"attentiond", NULL};
    char error[256] = "";
    if (config.elements == 0)
        ck_assert_msg(config_load(1, program, error, sizeof error) == 0, "%s",
                      error);
}

static char *guarded(struct posted *p, const char *text, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t readable = (n + page - 1) / page * page;

    p->pages_bytes = readable + page;
    p->pages = mmap(NULL, p->pages_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(p->pages, MAP_FAILED);
    char *wall = (char *)p->pages + readable;
    ck_assert_int_eq(mprotect(wall, page, PROT_NONE), 0);
    memcpy(wall - n, text, n);
    return wall - n;
}

void posted_decode(struct posted *p, const char *text, size_t n)
{
    load_settings();
    p->r = request_new();
    ck_assert_ptr_nonnull(p->r);
    p->r->body = (struct buffer){.data = guarded(p, text, n), .length = n};
    p->r->form_reply = &form_json;

    p->calls = 0;
    int64_t tasks;
    while ((tasks = form_json.decode_next(p->r)) > 0) {
        /* In any order. */
        while (--tasks >= 0)
            do
                p->calls++;
            while (!form_json.decode_task(p->r, tasks));
    }
}

char *posted_encode(struct posted *p)
{
    const int64_t n = form_json.encode_plan(p->r);
    ck_assert_int_ge(n, 1);
    char **piece = calloc((size_t)n, sizeof *piece);
    size_t *length = calloc((size_t)n, sizeof *length);
    size_t total = 0;

    for (int64_t k = n - 1; k >= 0; k--) {
        size_t bound = form_json.encode_bound(p->r, k);
        piece[k] = malloc(bound);
        length[k] = form_json.encode_piece(p->r, k, piece[k]);
        ck_assert_uint_le(length[k], bound);
        total += length[k];
    }
    char *text = calloc(total + 1, 1), *end = text;
    for (int64_t k = 0; k < n; k++) {
        memcpy(end, piece[k], length[k]);
        end += length[k];
        free(piece[k]);
    }
    free(piece);
    free(length);
    return text;
}

char *posted_answer(struct posted *p, const char *text, size_t n)
{
    struct attn_error error;
    struct request *r;

    posted_decode(p, text, n);
    r = p->r;
    if (r->fault.problem == PROBLEM_NONE &&
        attn_plan(&r->input, &r->plan, &error) != ATTN_OK)
        field_fault(&r->fault, &error);
    if (r->fault.problem != PROBLEM_NONE)
        return NULL;

    for (int o = 0; o < ATTN_N_OUT; o++)
        r->output.data[o] = arena_alloc(&r->arena, r->plan.output_bytes[o]);
    r->call = (struct attn_call){
        .in = &r->input, .plan = &r->plan, .out = &r->output,
        .shared = arena_alloc(&r->arena, r->plan.shared_bytes)};
    attn_run(&r->call, arena_alloc(&r->arena, attn_run_bytes(&r->plan)));
    return posted_encode(p);
}

void posted_close(struct posted *p)
{
    p->r->body = (struct buffer){.data = NULL};
    request_free(p->r);
    munmap(p->pages, p->pages_bytes);
}
