/* SPDX-License-Identifier: MIT */
/*
 * admit - all that can be refused from the headers alone, before the body:
 * framing, size, types, deadline, load. Reads the headers, fills the section
 * "admit" of the request; refusals go to r->fault.
 */
#ifndef ADMIT_H
#define ADMIT_H

#include "request.h"

enum problem admit(struct request *r);

#endif
