/* SPDX-License-Identifier: MIT */
/*
 * accuracy.h - how far a result may lie from the formula: SPEC, "Accuracy".
 */
#ifndef ACCURACY_H
#define ACCURACY_H

#include "trial.h"

/* Fails the test if t->out and t->expected differ by more, or in NaN. */
void accuracy_check(struct trial *t);

#endif
