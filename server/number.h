/* SPDX-License-Identifier: MIT */
/*
 * number - numbers as text: JSON numbers into float32 and float64 and back,
 * at the speed of memory. It knows the grammar of one number, of a row of
 * numbers with commas between, and of what stands between two rows, nothing
 * else of JSON. No locale, no allocation, no state but a table made before
 * main() starts; callable from any thread.
 *
 * Reading is correctly rounded for any length and exponent. Both types are
 * read as binary64 first; float32 is that rounded once more, as every client
 * that holds doubles does. Writing gives the fewest digits that this reading
 * turns into the same bits, the nearest of those to the value.
 */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stddef.h>

enum number_status { NUMBER_OK, NUMBER_SYNTAX, NUMBER_OVERFLOW };

/* Reads the one JSON number that begins at p, never at or beyond `end`.
 *   NUMBER_OK        *value is the nearest binary64, *next the first byte
 *                    after the number (which may be one that no JSON text
 *                    has there: the second 0 of "00")
 *   NUMBER_SYNTAX    *next is the first byte that no JSON number could have
 *                    there, or `end` where the text stops too early
 *   NUMBER_OVERFLOW  a number, ending at *next, whose nearest is infinite */
enum number_status number_read(const char *p, const char *end, double *value,
                               const char **next);

/* Reads numbers with one comma between, and white space around each, into
 * out[0..max); returns how many. It stops, without an error, before anything
 * else: a bracket, a string, a fault, a number that overflows the type. *next
 * is the byte after the last number stored, white space and comma not yet
 * taken, or p if there is none. So after n > 0 numbers a comma may follow,
 * and behind it what number_read() or the caller has to judge. */
size_t number_read_row_f32(const char *p, const char *end, float *out,
                           size_t max, const char **next);
size_t number_read_row_f64(const char *p, const char *end, double *out,
                           size_t max, const char **next);

/* Numbers of a matrix: n in all, `left` of them to the end of the row in hand,
 * then `width` each; 1 <= left <= width. */
struct number_rows {
    size_t n, left, width;
};

/* The same for a matrix, without its outermost brackets: 1,2],[3,4. It stops,
 * too, where the text has a row end too soon, or not in time, and may stop at
 * the end of any row. */
size_t number_read_rows_f32(const char *p, const char *end, float *out,
                            struct number_rows rows, const char **next);
size_t number_read_rows_f64(const char *p, const char *end, double *out,
                            struct number_rows rows, const char **next);

/* The longest texts: -1.23456789e-38 or -1234567890000000, and
 * -1.2345678901234567e-308. */
enum { NUMBER_F32_MAX = 17, NUMBER_F64_MAX = 24 };

/* Writes one number as JSON and returns its length, without a NUL. From 1e-4
 * to below 1e16 the point is at its place (0.0001, 0.1, 1, 120, 1.5), beyond
 * that there is an exponent (1e-5, 1.5e22). -0.0 is -0. What JSON has no
 * number for is a string: "NaN", "Infinity", "-Infinity", with the quotes. */
size_t number_write_f32(char out[NUMBER_F32_MAX], float value);
size_t number_write_f64(char out[NUMBER_F64_MAX], double value);

/* n numbers with a comma between. `out` has room for n * (MAX + 1) bytes; what
 * lies behind the text and within that is overwritten. */
size_t number_write_row_f32(char *out, const float *values, size_t n);
size_t number_write_row_f64(char *out, const double *values, size_t n);

/* A matrix as 1,2],[3,4. `out` has room for n * (MAX + 1) bytes and 2 for each
 * row that ends. */
size_t number_write_rows_f32(char *out, const float *values,
                             struct number_rows rows);
size_t number_write_rows_f64(char *out, const double *values,
                             struct number_rows rows);

/* The ways in which rows are read and written, slowest first: plain C, then
 * what this CPU has more. The best is taken at start; number_use(i), with i
 * below the count, takes another, for tests and benchmarks alone: no thread
 * may be reading or writing meanwhile. */
size_t number_levels(void);
const char *number_level_name(size_t i);
void number_use(size_t i);

#endif
