/* SPDX-License-Identifier: MIT */
/*
 * turn - which thread this is: a small number, by which threads share out what
 * they would else fight for.
 */
#ifndef TURN_H
#define TURN_H

/* From 0, in the order in which the threads ask for the first time; a thread
 * keeps its own. */
unsigned turn(void);

#endif
