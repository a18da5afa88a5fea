# SPDX-License-Identifier: MIT
"""The cases of make_vectors.py: name, what is returned, the request.

A name is a claim about what is covered. Every option of SPEC is here, and
what ONNX's own data lacks.
"""
from rules import INF, NAN, band, coins, noise

OAL = ["output", "A", "lse"]
STAGES = ["output", "A", "A_mean", "lse", "Q", "K", "V", "S", "S_scaled",
          "S_softcapped", "S_masked", "present_K", "present_V", "stats"]


def heads_apart(B, H, G, n_q, n_k, d_k, d_v, **more):
    return dict(Q=noise(B, H, n_q, d_k), K=noise(B, G, n_k, d_k),
                V=noise(B, G, n_k, d_v), **more)


def one_head(n_q, n_k, d_k, d_v, **more):
    return dict(Q=noise(n_q, d_k), K=noise(n_k, d_k), V=noise(n_k, d_v),
                **more)


def packed(B, H, G, n_q, n_k, d_k, d_v, **more):
    lead = [B] if B else []
    return dict(Q=noise(*lead, n_q, H * d_k), K=noise(*lead, n_k, G * d_k),
                V=noise(*lead, n_k, G * d_v), num_heads=H, num_kv_heads=G,
                **more)


def projected(lead, d, H, G, d_k, d_v, d_c=None, out_in=False, d_out=None,
              **more):
    def matrix(rows, columns):
        shape = (columns, rows) if out_in else (rows, columns)
        return noise(*shape, size=2**-11)
    r = dict(X=noise(*lead, d), W_Q=matrix(d, H * d_k),
             W_K=matrix(d_c or d, G * d_k), W_V=matrix(d_c or d, G * d_v))
    if H > 1:
        r.update(num_heads=H, num_kv_heads=G)
    if d_out:
        r["W_O"] = matrix(H * d_v, d_out)
    if out_in:
        r["weight_layout"] = "out_in"
    return r | more


def additive(d_k, a):
    return dict(type="additive", W_a=noise(d_k, a), U_a=noise(d_k, a),
                v_a=noise(a))


def sizes():
    """Lengths and widths off every block size, in both types."""
    table = [(1, 1, 1, 1), (1, 7, 5, 9), (7, 23, 9, 15), (23, 57, 15, 57),
             (3, 130, 57, 5), (2, 267, 257, 9), (5, 514, 5, 257),
             (7, 1030, 9, 15), (130, 1, 5, 5), (1, 1030, 64, 64)]
    for n_q, n_k, d_k, d_v in table:
        for dtype in "float32", "float64":
            yield (f"size_{n_q}x{n_k}_widths_{d_k}_{d_v}_{dtype}", OAL,
                   one_head(n_q, n_k, d_k, d_v, dtype=dtype))
    yield "size_600_keys_causal", OAL, one_head(600, 600, 9, 2, causal=True)


def heads():
    yield "heads_rank_3", STAGES, dict(
        Q=noise(3, 5, 4), K=noise(3, 7, 4), V=noise(3, 7, 2))
    yield "heads_rank_4_grouped", STAGES, heads_apart(2, 6, 2, 5, 7, 4, 3)
    yield "heads_all_on_one_key_head", OAL, heads_apart(2, 5, 1, 7, 57, 9, 5)
    yield "heads_packed_rank_2", STAGES, packed(0, 4, 2, 5, 7, 3, 2)
    yield "heads_packed_rank_3", STAGES, packed(2, 4, 2, 5, 7, 3, 2)


def masks():
    for shape in [57], [1], [7, 57], [7, 1], [3, 7, 57], [3, 1, 57], \
            [2, 1, 1, 57], [2, 3, 7, 57], [1, 3, 7, 1]:
        name = "_".join(map(str, shape))
        yield (f"mask_{name}", OAL, heads_apart(
            2, 3, 3, 7, 57, 5, 4, mask=coins(*shape, put=[(0, True)])))
        yield (f"bias_{name}", OAL, heads_apart(
            2, 3, 3, 7, 57, 5, 4, bias=noise(*shape, put=[(0, -INF)])))
    yield "mask_band_of_600", ["output", "lse"], one_head(
        600, 600, 9, 2, mask=band(600, 3))
    yield "mask_and_bias_and_causal", STAGES, heads_apart(
        2, 2, 1, 7, 9, 5, 4, mask=coins(7, 9), bias=noise(2, 1, 9),
        causal=True)


def positions():
    base = (2, 2, 2, 5, 9, 4, 3)
    options = {
        "offset_0": dict(causal=True),
        "offset_4": dict(causal=True, offset=4),
        "offset_negative": dict(causal=True, offset=-2),
        "offset_list": dict(causal=True, offset=[0, 4]),
        "offset_end": dict(causal=True, offset="end"),
        "offset_end_lengths": dict(causal=True, offset="end",
                                   key_lengths=[9, 6]),
        "key_lengths": dict(key_lengths=[4, 0]),
        "window_both": dict(window=dict(left=2, right=1)),
        "window_left": dict(window=dict(left=2), offset="end"),
        "window_right": dict(window=dict(left=None, right=0)),
        "window_causal": dict(window=dict(left=0, right=3), causal=True),
        "alibi": dict(alibi=[0.5, 0.0625]),
        "alibi_end_causal": dict(alibi=[0.5, -0.25], offset="end",
                                 causal=True),
    }
    for name, more in options.items():
        yield "position_" + name, OAL + ["S_masked", "stats"], heads_apart(
            *base, **more)


def score_options():
    yield "scale_negative", OAL, one_head(7, 57, 5, 4, scale=-1.5)
    yield "scale_zero", OAL, one_head(7, 57, 5, 4, scale=0)
    yield "softcap", STAGES, one_head(5, 7, 64, 4, softcap=1.5, scale=1)
    yield "softcap_then_bias", STAGES, one_head(
        5, 7, 4, 4, softcap=0.5, bias=noise(5, 7, steps=8, size=1))
    yield "sinks", STAGES, heads_apart(2, 2, 1, 5, 7, 4, 3, sinks=[0.5, -3])
    yield "additive", STAGES, heads_apart(
        2, 2, 2, 5, 7, 4, 3, score=additive(4, 6))
    yield "additive_scaled_float64", OAL, one_head(
        7, 57, 5, 4, score=additive(5, 3), scale=2, causal=True,
        dtype="float64")


def rope():
    for name, options in {
            "default": {}, "interleaved": dict(interleaved=True),
            "partial": dict(dim=4, base=100),
            "partial_interleaved": dict(dim=2, interleaved=True)}.items():
        yield "rope_" + name, OAL + ["Q", "K", "present_K", "S"], one_head(
            5, 9, 6, 3, rope=options, offset="end", causal=True)
    yield "rope_far", OAL + ["S"], one_head(
        3, 5, 8, 2, rope={}, offset=100000)
    yield "rope_float64", OAL + ["S"], one_head(
        3, 5, 8, 2, rope={}, offset=50, dtype="float64")
    yield "rope_list_of_offsets", OAL, packed(
        2, 2, 1, 3, 9, 4, 2, rope={}, offset=[2, -5])


def caches():
    present = OAL + ["K", "present_K", "present_V"]
    yield "cache_apart", present, heads_apart(
        2, 4, 2, 3, 4, 5, 2, past_K=noise(2, 2, 6, 5),
        past_V=noise(2, 2, 6, 2), causal=True)
    yield "cache_of_packed_heads", present, packed(
        2, 4, 2, 3, 4, 5, 2, past_K=noise(2, 6, 10), past_V=noise(2, 6, 4),
        causal=True)
    yield "cache_apart_for_packed_heads", present, packed(
        0, 4, 2, 3, 4, 5, 2, past_K=noise(2, 6, 5), past_V=noise(2, 6, 2),
        mask=coins(3, 10))
    yield "cache_with_rope", present, one_head(
        1, 1, 8, 3, past_K=noise(57, 8), past_V=noise(57, 3), rope={})
    yield "cache_behind_projection", present, projected(
        [2, 3], 5, 2, 1, 4, 3, past_K=noise(2, 1, 6, 4),
        past_V=noise(2, 1, 6, 3), causal=True, rope={})


def projections():
    yield "project_alone", STAGES, projected([5], 6, 1, 1, 4, 3)
    yield "project_batch", STAGES, projected([2, 5], 6, 1, 1, 4, 3)
    yield "project_heads", STAGES, projected([5], 6, 4, 2, 3, 2)
    yield "project_batch_heads_biases", STAGES, projected(
        [2, 5], 6, 4, 2, 3, 2, b_Q=noise(12), b_K=noise(6), b_V=noise(4),
        d_out=5, b_O=noise(5))
    yield "project_out_in_context", STAGES, projected(
        [2, 5], 6, 2, 2, 3, 2, d_c=7, context=noise(2, 9, 7), out_in=True,
        d_out=3, causal=True, offset="end")
    yield "project_empty_rows_give_b_O", OAL, projected(
        [5], 6, 2, 2, 3, 2, d_out=3, b_O=noise(3), causal=True, offset=-2)
    yield "project_wide_float64", OAL, projected(
        [57], 130, 2, 1, 15, 9, d_out=23, dtype="float64")


def large():
    """Integers: scores of up to some 1e4 that float32 holds exactly."""
    def whole(n_q, n_k, d, **more):
        return dict(Q=noise(n_q, d, steps=40, size=1),
                    K=noise(n_k, d, steps=40, size=1), V=noise(n_k, 3),
                    **more)
    yield "large_scores", OAL + ["S"], whole(7, 267, 64, scale=1)
    yield "large_scores_near_ties", OAL, whole(7, 267, 64, scale=2**-9)
    yield "large_scores_negative", OAL, whole(7, 267, 64, scale=-1)
    yield "large_scores_float64", OAL + ["S_masked"], whole(
        7, 267, 64, scale=1, dtype="float64")
    yield "large_scores_of_1_key", OAL, whole(7, 1, 64, scale=1)
    yield "large_bias", OAL, one_head(
        5, 57, 4, 2, scale=0, bias=noise(5, 57, steps=10000, size=1))
    yield "large_values", ["output"], dict(
        Q=noise(5, 4), K=noise(7, 4), V=noise(7, 2, steps=8, size=2.0**100))


def not_numbers():
    hidden = [(6 * 4 + 1, NAN), (7 * 4, INF), (8 * 4 + 3, -INF)]
    def held(**more):
        return dict(Q=noise(5, 4), K=noise(9, 4, put=hidden),
                    V=noise(9, 4, put=hidden), **more)
    tail = [[True] * 6 + [False] * 3]
    yield "nan_hidden_by_mask", OAL + ["S_masked", "stats"], held(mask=tail)
    yield "nan_hidden_by_lengths", OAL + ["stats"], held(key_lengths=[6])
    yield "nan_hidden_by_causal", OAL + ["stats"], held(causal=True)
    yield "nan_hidden_by_bias", OAL + ["stats"], held(
        bias=[0.5] * 6 + ["-Infinity"] * 3)
    yield "nan_hidden_in_bias", OAL, one_head(
        5, 9, 4, 4, key_lengths=[6], bias=noise(9, put=[(7, NAN), (8, INF)]))
    yield "nan_in_Q", OAL + ["stats"], one_head(5, 9, 4, 4) | dict(
        Q=noise(5, 4, put=[(9, NAN)]))
    yield "nan_in_K", OAL, one_head(5, 9, 4, 4, causal=True) | dict(
        K=noise(9, 4, put=[(9, NAN)]))
    yield "nan_in_V", OAL, one_head(5, 9, 4, 4, causal=True) | dict(
        V=noise(9, 4, put=[(9, NAN), (15, INF)]))
    yield "nan_far_in_K", OAL, one_head(3, 1030, 4, 4) | dict(
        K=noise(1030, 4, put=[(4000, NAN)]))
    yield "infinite_bias", OAL, one_head(
        5, 9, 4, 4, bias=noise(5, 9, put=[(20, INF), (30, NAN)]))
    yield "infinite_score_below", OAL, dict(
        Q=[[1.0], [-1.0]], K=[["-Infinity"], [1.0], [2.0]],
        V=[[1.0], [2.0], [3.0]])
    yield "infinite_sinks", OAL, heads_apart(
        1, 3, 3, 2, 5, 4, 2, sinks=["NaN", "Infinity", "-Infinity"])
    yield "empty_rows_with_sinks", OAL + ["stats"], heads_apart(
        1, 2, 2, 5, 7, 4, 2, sinks=[1.0, "NaN"], causal=True, offset=-3)
    yield "empty_call", OAL + ["stats"], one_head(5, 7, 4, 2, mask=[False])


def together():
    yield "together_packed", STAGES, packed(
        2, 4, 2, 5, 9, 4, 3, mask=coins(4, 5, 9, percent=80),
        bias=noise(9, put=[(3, -INF)]), causal=True, offset="end",
        key_lengths=[9, 7], window=dict(left=4, right=2), softcap=2,
        alibi=[0.5, 0.25, 0.125, 0.0625], sinks=[0, 1, -1, 0.5], scale=-0.75,
        rope=dict(dim=2))
    yield "together_projected_float64", STAGES, projected(
        [2, 5], 6, 4, 2, 4, 3, d_c=7, context=noise(2, 4, 7), out_in=True,
        d_out=5, b_O=noise(5), past_K=noise(2, 5, 8), past_V=noise(2, 5, 6),
        causal=True, window=dict(left=6), softcap=3,
        alibi=[0.5, 0.25, 0, -0.5], sinks=[0, 1, -1, 0.5], dtype="float64",
        rope=dict(interleaved=True, base=500), score=additive(4, 3))


def worked():
    yield "worked_two_tokens", ["output", "A"], dict(
        Q=[[1, 0], [0, 1]], K=[[1, 0], [0, 1]], V=[[10, 0], [0, 10]],
        dtype="float64")
    yield "worked_three_keys", ["output", "A"], dict(
        Q=[[1, 0]], K=[[1, 0], [0, 1], [-1, 0]],
        V=[[2, 0], [0, 2], [0, 0]], scale=1, dtype="float64")


def all_cases():
    for group in (worked, sizes, heads, masks, positions, score_options,
                  rope, caches, projections, large, not_numbers, together):
        yield from group()
