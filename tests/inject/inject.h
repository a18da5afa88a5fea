/* SPDX-License-Identifier: MIT */
/*
 * inject.h - which calls of a daemon fail, told to it while it runs.
 * The file that $INJECT names holds one of these; test and daemon both map it.
 * The daemon needs inject.so in $LD_PRELOAD.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdatomic.h>

enum inject_what {
    INJECT_EPOLL_CTL = 1,   /* ADD and MOD: ENOMEM */
    INJECT_MALLOC = 2,      /* malloc and calloc of libmicrohttpd: ENOMEM */
    INJECT_ACCEPT = 4,      /* EMFILE and ENFILE in turn */
    INJECT_MAP = 8,         /* mmap and mremap: ENOMEM */
    INJECT_UNMAP = 16,      /* munmap: ENOMEM */
    INJECT_EVENTFD = 32,    /* EMFILE */
    INJECT_BLAS = 64        /* a product is left undone */
};

struct inject {
    atomic_int what;        /* a sum of the above; 0: all works */
    atomic_int one_in;      /* of so many calls one fails */
    atomic_int failed;      /* so many have failed */
};

#endif
