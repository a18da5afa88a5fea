/* SPDX-License-Identifier: MIT */
/*
 * forward.h - the tile loop: blocks of queries against blocks of keys.
 *
 * A task of ATTEND owns a block of query rows and a range of keys. It walks
 * the range tile by tile with a running softmax (Dao et al., "FlashAttention",
 * 2022; Milakov and Gimelshein, "Online normalizer calculation", 2018):
 *
 *     m' = max(m, row maxima of S)         P = exp(S - m')
 *     l' = l exp(m - m') + row sums of P   O' = O exp(m - m') + P V
 *
 * and at the end output = O / l. If A is wanted, P goes there on the way and
 * is set right at the end: nothing else changes, so output has the same bits.
 */
#ifndef FORWARD_H
#define FORWARD_H

#include "kernel.h"
#include "row.h"
#include "visible.h"

struct forward;
struct block;
struct tile;

/*
 * Two ways to hold a tile: on its side, a row in each lane of the kernels
 * (hold_lanes.c), or line by line, for the few rows that decoding has
 * (hold_lines.c). P is what S has become.
 */
struct hold {
    /* q = the block's rows of Q */
    void (*take)(const struct forward *, struct block *);
    /* S = scale Q K^T, k's rows being k_row elements apart */
    void (*scores)(const struct forward *, struct block *,
                   const struct tile *, const void *k, int64_t k_row,
                   double scale);
    /* S = -Infinity outside of the rows' low and high */
    void (*hide)(const struct forward *, struct block *, const struct tile *);
    /* S row by row as the tile's `rows`, and back from there */
    void (*to_rows)(const struct forward *, struct block *,
                    const struct tile *);
    void (*from_rows)(const struct forward *, struct block *,
                      const struct tile *);
    /* S to P, and m, l, alpha */
    void (*softmax)(const struct forward *, struct block *,
                    const struct tile *);
    /* O = O alpha + P V */
    void (*mix)(const struct forward *, struct block *, const struct tile *,
                const void *v, int64_t v_row);
    /* O of row r += P of row r and key j times v, where v is not finite */
    void (*mix_spoilt)(const struct forward *, struct block *,
                       const struct tile *, int64_t r, int64_t j,
                       const void *v);
    /* O = O alpha + o turned */
    void (*merge)(const struct forward *, struct block *, const void *o);
    /* output = O factor */
    void (*output)(const struct forward *, struct block *);
    /* A = P turned */
    void (*weights)(const struct forward *, struct block *,
                    const struct tile *);
};

extern const struct hold hold_lanes, hold_lines;

/* One call, as its tiles see it: constant while a task runs. */
struct forward {
    const struct attn_call *call;
    const struct attn_input *in;
    const struct attn_plan *plan;
    const struct plan_layout *layout;
    const struct kernel *kernel;
    const struct hold *hold;
    const struct row_ops *row;
    int64_t size;              /* bytes of a number */
    int64_t width;             /* of what is compared: d_k, or a */
    double scale;
    struct view q, k[2], v[2]; /* of K and V: cached, new */
    struct view mixed;
    struct grid mask, bias;
    char *a;                   /* [B, H, n_q, n_k], or NULL */
    bool by_rows;              /* scores are needed key by key in rows */
    bool wants_stages;         /* any of the S* */
    bool wants_stats;
    bool wants_output;
};

/* What the rows of a task add to the statistics of the call. */
struct tally {
    int64_t rows, empty_rows; /* that see a key; that see none */
    double a_max, entropy;    /* sums over rows */
    double sum_min, sum_max;
    struct moments s, s_scaled;
};

enum block_stage { BLOCK_TILES, BLOCK_WEIGHTS };

/*
 * A block of rows at work, at the head of a workspace. Row r is query
 * i + r % queries of head h + r / queries. W is the number of lanes where
 * tiles are held in lanes, where they are held in lines the number of rows.
 */
struct block {
    enum block_stage stage;
    int64_t task;
    int64_t b, g, h, i, queries, rows;
    int vecs;
    int64_t lanes;            /* W */
    int64_t line;             /* elements from one line of s to the next */
    struct interval range;    /* its keys */
    struct interval hull;     /* those that some row may see */
    int64_t key;              /* where the next tile begins */
    struct tally *tally;      /* in shared memory */

    char *q;                  /* [width, W], in lines [W, width] */
    char *s;                  /* [columns, W], in lines [W, line]: S, then P;
                                 with A of all tiles */
    char *o;                  /* [d_v, W], in lines [W, d_v] */
    char *m, *l;              /* [W] running maximum and sum */
    char *alpha;              /* [W] exp(m before - m) */
    char *factor;             /* [W] what makes O to output */
    char *turned;             /* [W] the same for a piece of A */
    char *spare;              /* [W, columns] room for some of it by rows */
    char *v;                  /* [columns, d_v] V without its NaN */
    unsigned char *map;       /* [W, columns] 1: visible */
    int64_t *low, *high;      /* [W] interval within the tile */
    int64_t *seen;            /* [W] visible keys so far */
    double *sum, *weighted;   /* [W] of exp(s-m), exp(s-m) (s-m) */

    int64_t n_pieces, piece;  /* of P that are kept; next to be written */
    int64_t *piece_key, *piece_columns; /* [pieces] */
    char *piece_m;            /* [pieces, W] the m they were made with */
};

/* What a task leaves for MERGE, where keys are cut in ranges. */
struct partial {
    int64_t *seen;                      /* [W] */
    double *m, *l, *sum, *weighted;     /* [W] */
    char *o;                            /* like the block's */
};

enum tile_kind { TILE_HIDDEN, TILE_MIXED, TILE_VISIBLE };

struct tile {
    int64_t key, columns;
    enum tile_kind kind; /* MIXED: block's map, or low and high, say which */
    char *s;             /* its part of the block's s */
    char *rows;          /* [W, columns] the same by rows... */
    int64_t row;         /* ... and the elements from one to the next */
};

/* ------------------------------------------------- block.c: whose rows */

void forward_open(struct forward *f, const struct attn_call *call);

/* Lays a block out in `memory` (NULL: only measures). Returns its bytes. */
int64_t block_lay_out(struct block *blk, const struct attn_input *in,
                      const struct attn_plan *plan, char *memory);

/* The same for the partial of a task. */
int64_t partial_lay_out(struct partial *p, const struct attn_input *in,
                        const struct attn_plan *plan, char *memory);

/* A fresh block for a task of ATTEND, or for the rows that MERGE joins. */
void block_open(const struct forward *f, struct block *blk, int64_t task);
void block_open_rows(const struct forward *f, struct block *blk, int64_t rows);

static inline int64_t block_head(const struct block *blk, int64_t r)
{
    return blk->h + r / blk->queries;
}

static inline int64_t block_query(const struct block *blk, int64_t r)
{
    return blk->i + r % blk->queries;
}

/* Where row `key` of K or V lies; those of a tile follow by *row elements. */
void *block_key(const struct forward *f, const struct block *blk,
                const struct view v[2], int64_t key, int64_t *row);

/* Index of row r in a tensor [B, H, n_q], where a block's rows follow each
 * other; and where it has `key` in one [B, H, n_q, n_k]. */
int64_t block_row_index(const struct forward *f, const struct block *blk,
                        int64_t r);
void *block_row(const struct forward *f, const struct block *blk, void *tensor,
                int64_t r, int64_t key);

/* ------------------------------------------------ the passes of a tile */

/* visible.c: which pairs of the tile; counts them in block's `seen`. */
enum tile_kind visible_tile(const struct forward *f, struct block *blk,
                            const struct tile *t);
/* The same for one row, into a map of its own; counts nothing. */
void visible_row(const struct forward *f, const struct block *blk, int64_t r,
                 const struct tile *t, unsigned char *map);

/* score.c: S -> S_scaled -> S_softcapped -> S_masked, each shown on the way */
void score_tile(const struct forward *f, struct block *blk,
                const struct tile *t);

/* mix.c: O = O alpha + P V, hidden keys left out. */
void mix_tile(const struct forward *f, struct block *blk,
              const struct tile *t);

/* softmax.c: one step of the running softmax, S to P in place. */
void softmax_tile(const struct forward *f, struct block *blk,
                  const struct tile *t);
/* All keys are through: sinks, lse, the statistics, block's `factor`. */
void softmax_close(const struct forward *f, struct block *blk);
/* Takes in what another range of keys came to. */
void softmax_merge(const struct forward *f, struct block *blk,
                   const struct partial *p);

/* ------------------------------------------------------------ the tasks */

/* Steps of a task of ATTEND and of MERGE; see attn_run_task(). */
bool forward_attend(const struct attn_call *call, int64_t task,
                    void *workspace, int64_t *resume);
bool forward_merge(const struct attn_call *call, int64_t task,
                   void *workspace, int64_t *resume);

#endif
