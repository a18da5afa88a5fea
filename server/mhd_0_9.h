/* SPDX-License-Identifier: MIT */
/*
 * mhd_0_9 - what libmicrohttpd 0.9 does not do by itself and 1.0 does. Both
 * have one soname, so which of them is there is asked at run time. The rest of
 * the daemon uses what is documented for both.
 */
#ifndef MHD_0_9_H
#define MHD_0_9_H

#include <stdbool.h>

struct MHD_Connection;

/* Is the library that was loaded older than the parser of 1.0 (0.9.77.1)? */
bool mhd_is_0_9(void);

/*
 * 0.9 ends a line at a CR or an LF, whichever comes first, ends a value at its
 * first NUL, takes a blank within a name and joins a value of two lines; so
 * another reader may see other headers than it shows. But it leaves the lines
 * where they came and puts a NUL over each CR and LF. These tell whether the
 * lines are what it shows: each in one piece, and ended by CR LF.
 */
struct mhd_0_9_lines {
    const char *end;    /* of the request line or of the value before */
    bool sound;
};

void mhd_0_9_begin(struct mhd_0_9_lines *lines, const char *version);
void mhd_0_9_line(struct mhd_0_9_lines *lines, const char *name,
                  const char *value);
void mhd_0_9_end(struct mhd_0_9_lines *lines, struct MHD_Connection *c,
                 const char *method);

/* 0.9 sends no "100 Continue" where a blank follows the word in Expect. */
void mhd_0_9_continue(int fd, const char *expect);

#endif
