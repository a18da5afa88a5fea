/* SPDX-License-Identifier: MIT */
/*
 * stats.h - the tallies of all tasks, joined in the order of the tasks.
 */
#ifndef STATS_H
#define STATS_H

#include "attention.h"

/* Fills stats and empty_rows of the output. */
void stats_join(struct attn_call *call);

#endif
