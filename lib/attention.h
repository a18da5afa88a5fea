/* SPDX-License-Identifier: MIT */
/*
 * attention.h - softmax(Q K^T / sqrt(d_k)) V, exactly, with every variant
 * and every intermediate stage.
 *
 * For each batch item b and query head h, with key/value head
 * g = floor(h * G / H), in exactly this order:
 *
 *     S            = Q[b,h] K[b,g]^T                        n_q x n_k
 *     S_scaled     = scale * S                 scale: 1/sqrt(d_k) by default
 *     S_softcapped = softcap * tanh(S_scaled / softcap)     softcap > 0 only
 *     S_masked     = S_softcapped + bias + alibi   hidden keys: -Infinity
 *     A            = softmax of each row over its visible keys
 *     output       = A V[b,g]                               n_q x d_v
 *     lse          = log(sum over visible keys of exp(S_masked))     n_q
 *
 * Legend of letters, the same in code, documents and messages:
 *
 *     B    batch items          H    query heads     G   key/value heads
 *     n_q  queries              n_k  keys, cached ones (n_past) included
 *     d_k  width of a query and of a key             d_v width of a value
 *     d    width of a row of X  d_c  of context      m   rows of context
 *
 * All tensors are row-major without gaps, the last axis fastest.
 *
 * A row that sees no key gives exact zeros in A and output and -Infinity in
 * lse. A hidden key takes no part, whatever its K, V or bias hold. NaN and
 * Infinity at visible places follow IEEE arithmetic.
 *
 * Same bits: output does not depend on what else is returned, on the other
 * items of the batch, on the number of threads or on the order of tasks.
 *
 * The library starts no thread, allocates nothing, prints nothing and keeps
 * no state but what attn_init() fixes once. Everything else is in the
 * caller's memory, so any number of calls may run at the same time.
 */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_VERSION "0.1.0"
#define ATTN_MAX_RANK 4
#define ATTN_TEXT_MAX 256

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

/* ------------------------------------------------------------ statuses */

enum attn_status {
    ATTN_OK = 0,
    ATTN_MISSING,   /* an operand, or the companion of one, is absent */
    ATTN_EXCLUDES,  /* two members that exclude each other are present */
    ATTN_RANK,      /* a tensor has a number of axes that is not allowed */
    ATTN_SHAPE,     /* an axis has another size than another tensor's */
    ATTN_BROADCAST, /* mask or bias does not broadcast to [B,H,n_q,n_k] */
    ATTN_HEADS,     /* H is no multiple of G, or a width none of H or G */
    ATTN_RANGE,     /* the value of an option is outside its range */
    ATTN_OVERFLOW   /* a size product does not fit size_t or int64_t */
};

/* What is wrong, and where. Names are those of the tables below. */
struct attn_error {
    enum attn_status status;
    const char *name;     /* the member at fault: "K"; never NULL on error */
    const char *other;    /* the member it was held against, or NULL */
    int axis;             /* axis of name concerned, or -1 */
    int64_t index;        /* element of name (key_lengths, offset), or -1 */
    int64_t expected;     /* only where status is about sizes, else 0 */
    int64_t got;
    char text[ATTN_TEXT_MAX]; /* one English sentence, no full stop */
};

/* ------------------------------------------------------------- tensors */

enum attn_dtype { ATTN_FLOAT32, ATTN_FLOAT64 };

/* Bytes of one number: 4 or 8. */
ATTN_API size_t attn_dtype_bytes(enum attn_dtype dtype);

/*
 * A tensor as the caller holds it. rank 0 says that it is absent. The type
 * of an element is the call's dtype, but for mask (unsigned char, 0 or 1)
 * and for key_lengths and offset (int64_t). Axes of size 0 are legal.
 */
struct attn_tensor {
    void *data;
    int rank;                    /* 0: absent; else 1 ... 4 */
    int64_t dim[ATTN_MAX_RANK];  /* dim[0 .. rank-1], each >= 0 */
};

/* Number of elements of a tensor, or -1 if the product overflows. */
ATTN_API int64_t attn_tensor_elements(const struct attn_tensor *t);

/* ------------------------------------------------------- what goes in */

enum attn_in {
    ATTN_Q,        /* [n_q,d_k]  [H,n_q,d_k]  [B,H,n_q,d_k], or packed */
    ATTN_K,        /* [n_k,d_k]  [G,n_k,d_k]  [B,G,n_k,d_k], or packed */
    ATTN_V,        /* [n_k,d_v]  [G,n_k,d_v]  [B,G,n_k,d_v], or packed */
    ATTN_X,        /* [n,d] or [B,n,d] */
    ATTN_CONTEXT,  /* [m,d_c] or [B,m,d_c], same rank as X */
    ATTN_W_Q,      /* [d, H*d_k]      transposed with weights_out_in */
    ATTN_W_K,      /* [d_c, G*d_k]    d_c = d without context */
    ATTN_W_V,      /* [d_c, G*d_v] */
    ATTN_W_O,      /* [H*d_v, d_out] */
    ATTN_B_Q,      /* [H*d_k] */
    ATTN_B_K,      /* [G*d_k] */
    ATTN_B_V,      /* [G*d_v] */
    ATTN_B_O,      /* [d_out], only with W_O */
    ATTN_MASK,     /* bytes, broadcasts to [B,H,n_q,n_k]; 1: may attend */
    ATTN_BIAS,     /* broadcasts to [B,H,n_q,n_k]; -Infinity hides */
    ATTN_ALIBI,    /* [H] slopes m: adds -m |p - j| */
    ATTN_SINKS,    /* [H] logits: adds exp(sink) to the denominator */
    ATTN_PAST_K,   /* [.., G, n_past, d_k] or packed like K */
    ATTN_PAST_V,   /* [.., G, n_past, d_v] or packed like V */
    ATTN_KEY_LENGTHS, /* [B] of int64_t, each 0 ... n_k */
    ATTN_OFFSET,   /* [1] or [B] of int64_t; see offset_end */
    ATTN_W_A,      /* [d_k, a]  additive score, the three together */
    ATTN_U_A,      /* [d_k, a] */
    ATTN_V_A,      /* [a] */
    ATTN_N_IN
};

/* The member's name as SPEC and JSON spell it: "Q", "b_Q", "past_K". */
ATTN_API extern const char *const attn_in_name[ATTN_N_IN];

#define ATTN_OPEN ((int64_t)-1) /* a side of the window that is open */

/*
 * One call. Zero-initialise it, then set what is given; attn_input_init()
 * does so and sets the defaults that are not zero.
 *
 * Operands are Q, K, V or X, W_Q, W_K, W_V. Packed heads: num_heads given
 * with Q of rank 2 [n,H*d_k] or 3 [B,n,H*d_k].
 */
struct attn_input {
    enum attn_dtype dtype;
    struct attn_tensor tensor[ATTN_N_IN];
    int64_t num_heads;      /* 0: not given; else >= 1 */
    int64_t num_kv_heads;   /* 0: not given; else >= 1 */
    bool weights_out_in;    /* weight_layout "out_in": weights transposed */
    bool has_scale;
    double scale;           /* any finite number, if has_scale */
    double softcap;         /* 0: none; else > 0 and finite */
    bool causal;            /* visible only if j <= p, p = i + offset */
    bool offset_end;        /* offset "end": p = i + n_valid - n_q */
    int64_t window_left;    /* p - left <= j; ATTN_OPEN or >= 0 */
    int64_t window_right;   /* j <= p + right; ATTN_OPEN or >= 0 */
    bool rope;              /* rotate Q at p and new K at its key index */
    double rope_base;       /* positive; 10000 by default */
    int64_t rope_dim;       /* 0: d_k; else even, 2 ... d_k */
    bool rope_interleaved;  /* pairs (2t, 2t+1), not (t, t + dim/2) */
    unsigned returns;       /* ATTN_RETURN(ATTN_OUT_..) or-ed together */
};

ATTN_API void attn_input_init(struct attn_input *in);

/* ------------------------------------------------------ what comes out */

enum attn_out {
    ATTN_OUT_OUTPUT,       /* the layout of Q; [.., n, d_out] with W_O */
    ATTN_OUT_A,            /* [n_q,n_k] [H,n_q,n_k] [B,H,n_q,n_k] */
    ATTN_OUT_A_MEAN,       /* A without its head axis: the mean over it */
    ATTN_OUT_LSE,          /* A without its last axis */
    ATTN_OUT_Q,            /* heads apart, before rope */
    ATTN_OUT_K,            /* new keys, heads apart, before rope */
    ATTN_OUT_V,
    ATTN_OUT_S,            /* like A, these four */
    ATTN_OUT_S_SCALED,
    ATTN_OUT_S_SOFTCAPPED,
    ATTN_OUT_S_MASKED,
    ATTN_OUT_PRESENT_K,    /* [.., G, n_k, d_k]: past, then new rotated */
    ATTN_OUT_PRESENT_V,
    ATTN_OUT_STATS,        /* no tensor: struct attn_stats */
    ATTN_N_OUT
};

#define ATTN_RETURN(out) (1u << (out))

/* The names in `return` and in a reply: "output", "A", "A_mean", ... */
ATTN_API extern const char *const attn_out_name[ATTN_N_OUT];

/* The numbers that lecture-style demonstrations print; see SPEC, `stats`. */
struct attn_stats {
    bool empty;               /* no row sees a key: the six are null */
    double s_variance;        /* of S over all visible pairs */
    double s_scaled_variance;
    double a_max_mean;        /* over rows that see a key */
    double a_entropy_mean;    /* in nats */
    double a_row_sum_min;
    double a_row_sum_max;
};

/* data[o] is written for every o in `returns` (the caller's memory, of
 * plan.output_bytes[o] bytes, aligned to 64), others are left alone. */
struct attn_output {
    void *data[ATTN_N_OUT];
    struct attn_stats stats;   /* if ATTN_OUT_STATS was asked for */
    int64_t empty_rows;        /* rows (b, h, i) that see no key: always */
};

/* ------------------------------------------------- check -> plan -> run */

#define ATTN_MAX_PHASES 8

/*
 * What a call will do and need, from its shapes and options alone. Work is
 * cut into phases, to be run one after the other; the tasks of one phase
 * are independent and may run in any order, on any threads. Their borders
 * depend on one item's own shape alone.
 */
struct attn_plan {
    int64_t B, H, G, n_q, n_k, n_past, d_k, d_v;
    int64_t d, d_c, m, d_out;             /* projections, else 0 */
    struct attn_tensor output[ATTN_N_OUT];/* shapes; data NULL; rank 0: not
                                             asked for, or no tensor */
    size_t output_bytes[ATTN_N_OUT];
    size_t shared_bytes;    /* memory that all tasks of the call share */
    size_t worker_bytes;    /* memory of one thread while it runs tasks */
    double operations;      /* 2 B H n_q n_k (d_k + d_v), for limits */
    double work;            /* estimate of all arithmetic, projections and
                               skipped tiles considered, for scheduling */
    bool assumed_offset_0;  /* causal, window or alibi with n_q != n_k, no
                               cache and no offset: worth a warning */
    int n_phases;
    int64_t tasks[ATTN_MAX_PHASES];       /* tasks of each phase, >= 1 */
    struct attn_layout {    /* private to the library */
        int64_t word[96];
    } layout;
};

/* One call bound to its memory. Fill all fields, then attn_begin(). */
struct attn_call {
    const struct attn_input *in;     /* with data */
    const struct attn_plan *plan;    /* of that input */
    struct attn_output *out;
    void *shared;                    /* plan->shared_bytes, aligned to 64 */
};

/* What multiplies queries with keys and weights with values. */
enum attn_engine {
    ATTN_ENGINE_AUTO,      /* native, or openblas on CPUs without a level that
                              was tuned for them */
    ATTN_ENGINE_NATIVE,    /* our own kernels */
    ATTN_ENGINE_OPENBLAS,  /* the BLAS, tile by tile */
    ATTN_ENGINE_REFERENCE  /* the plain formula: right, and slow */
};

/*
 * Once per process, before any other call: chooses the kernels by what the
 * CPU can do, and tests both engines by known answers. Returns the engine in
 * use: the one that is wanted, or the other if that one failed its test, or
 * the reference if both did. Projections and the terms of additive scores go
 * through the BLAS whatever the engine, unless the BLAS failed. An engine's
 * results have its own bits. Not safe against itself on two threads.
 */
ATTN_API enum attn_engine attn_init(enum attn_engine wanted);

/* Has it failed its test? "native", "openblas", "reference". */
ATTN_API bool attn_engine_failed(enum attn_engine engine);
ATTN_API const char *attn_engine_name(enum attn_engine engine);

/* Name of the BLAS with its core in use, and of the kernels' CPU level. */
ATTN_API const char *attn_blas_name(void);
ATTN_API const char *attn_cpu_level(void);

/*
 * Checks and plans. Reads shapes, options and the data of key_lengths and
 * offset; no other data need be there yet. Fills *error unless ATTN_OK.
 */
ATTN_API enum attn_status attn_plan(const struct attn_input *in,
                                    struct attn_plan *plan,
                                    struct attn_error *error);

/* Prepares call->shared; before the first task. Short. */
ATTN_API void attn_begin(struct attn_call *call);

/*
 * Runs task `task` (0 ... plan->tasks[phase]-1) of `phase` for about 1 ms.
 * Returns true when the task is finished; false when it stopped between two
 * blocks of keys: call again, with the same workspace untouched in between,
 * to go on. workspace: plan->worker_bytes, aligned to 64; `*resume` must be
 * 0 for a new task and is the library's own from then on.
 */
ATTN_API bool attn_run_task(const struct attn_call *call, int phase,
                            int64_t task, void *workspace, int64_t *resume);

/* After the last task of the last phase: fills out->stats, empty_rows. */
ATTN_API void attn_end(struct attn_call *call);

/*
 * The simple way: all phases on the calling thread. memory: shared_bytes +
 * worker_bytes, each rounded up to 64, aligned to 64.
 */
ATTN_API void attn_run(struct attn_call *call, void *memory);
ATTN_API size_t attn_run_bytes(const struct attn_plan *plan);

/*
 * The formula in plain loops and double: the oracle. Same contract as
 * attn_run() with the same plan and outputs (rounded to dtype at the end);
 * allocates with malloc and returns false when that fails.
 */
ATTN_API bool attn_reference(const struct attn_input *in,
                             const struct attn_plan *plan,
                             struct attn_output *out);

#ifdef __cplusplus
}
#endif
#endif
