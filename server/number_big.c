/* SPDX-License-Identifier: MIT */
/* number_big - see number_big.h. Schoolbook methods; nothing here is hot. */
#include "number_big.h"

__extension__ typedef unsigned __int128 u128;

static void trim(struct big *b)
{
    while (b->n > 0 && b->word[b->n - 1] == 0)
        b->n--;
}

void big_set(struct big *b, uint64_t value)
{
    b->word[0] = value;
    b->n = value != 0;
}

void big_multiply(struct big *b, uint64_t factor, uint64_t addend)
{
    for (int i = 0; i < b->n; i++) {
        u128 sum = (u128)b->word[i] * factor + addend;
        b->word[i] = (uint64_t)sum;
        addend = (uint64_t)(sum >> 64);
    }
    if (addend != 0)
        b->word[b->n++] = addend;
}

void big_multiply_power5(struct big *b, int power)
{
    const uint64_t five27 = 7450580596923828125; /* the largest in 64 bits */
    for (; power >= 27; power -= 27)
        big_multiply(b, five27, 0);
    for (; power > 0; power--)
        big_multiply(b, 5, 0);
}

void big_shift(struct big *b, int bits)
{
    int words = bits / 64, rest = bits % 64;
    big_multiply(b, (uint64_t)1 << rest, 0);
    if (words == 0 || b->n == 0)
        return;
    for (int i = b->n; i-- > 0;)
        b->word[i + words] = b->word[i];
    for (int i = 0; i < words; i++)
        b->word[i] = 0;
    b->n += words;
}

void big_subtract(struct big *a, const struct big *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        uint64_t take = i < b->n ? b->word[i] : 0;
        u128 difference = (u128)a->word[i] - take - borrow;
        a->word[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
    trim(a);
}

int big_compare(const struct big *a, const struct big *b)
{
    if (a->n != b->n)
        return a->n - b->n;
    for (int i = a->n; i-- > 0;)
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    return 0;
}

int big_bits(const struct big *b)
{
    if (b->n == 0)
        return 0;
    return 64 * b->n - __builtin_clzll(b->word[b->n - 1]);
}
