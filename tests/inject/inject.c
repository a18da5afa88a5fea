/* SPDX-License-Identifier: MIT */
/*
 * inject - see inject.h. Stands before libc in a daemon, and passes calls on
 * or fails them. Under a sanitizer malloc is left alone, for it has its own.
 */
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

static struct inject *control;
static atomic_uint calls;
static uintptr_t library_begin, library_end;    /* libmicrohttpd's code */

/* One in so many, but not in a fixed rhythm. */
static bool fails(enum inject_what what)
{
    unsigned x;

    if (control == NULL || (atomic_load(&control->what) & (int)what) == 0)
        return false;
    x = atomic_fetch_add(&calls, 2654435761u);
    x = (x ^ x >> 15) * 2246822519u;
    x ^= x >> 13;
    if (x % (unsigned)atomic_load(&control->one_in) != 0)
        return false;
    atomic_fetch_add(&control->failed, 1);
    return true;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *none)
{
    (void)size;
    (void)none;
    if (strstr(info->dlpi_name, "libmicrohttpd") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
            continue;
        library_begin = (uintptr_t)(info->dlpi_addr + part->p_vaddr);
        library_end = library_begin + (uintptr_t)part->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("INJECT");
    int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
    void *at;

    if (fd < 0)
        return;
    dl_iterate_phdr(find_library, NULL);
    at = REAL(mmap)(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd, 0);
    control = at != MAP_FAILED ? at : NULL;
}

#ifndef INJECT_NO_MALLOC
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);

static bool is_library(const void *caller)
{
    return (uintptr_t)caller >= library_begin
        && (uintptr_t)caller < library_end;
}

static bool denies(const void *caller)
{
    if (!is_library(caller) || !fails(INJECT_MALLOC))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return denies(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return denies(__builtin_return_address(0)) ? NULL
        : __libc_calloc(n, size);
}
#endif

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fails(INJECT_MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return REAL(mmap)(at, n, protection, flags, fd, offset);
}

void *mremap(void *at, size_t old, size_t n, int flags, ...)
{
    va_list rest;
    void *to;

    va_start(rest, flags);
    to = va_arg(rest, void *);
    va_end(rest);
    if (fails(INJECT_MAP)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return REAL(mremap)(at, old, n, flags, to);
}

int munmap(void *at, size_t n)
{
    if (fails(INJECT_UNMAP)) {
        errno = ENOMEM;
        return -1;
    }
    return REAL(munmap)(at, n);
}

int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    if (what != EPOLL_CTL_DEL && fails(INJECT_EPOLL_CTL)) {
        errno = ENOMEM;
        return -1;
    }
    return REAL(epoll_ctl)(epoll, what, fd, event);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    if (fails(INJECT_ACCEPT)) {
        errno = atomic_load(&control->failed) % 2 ? EMFILE : ENFILE;
        return -1;
    }
    return REAL(accept4)(fd, address, length, flags);
}

int eventfd(unsigned value, int flags)
{
    if (fails(INJECT_EVENTFD)) {
        errno = EMFILE;
        return -1;
    }
    return REAL(eventfd)(value, flags);
}

/* As cblas.h has them, whose enumerations are ints. */
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                 float alpha, const float *a, int a_row, const float *b,
                 int b_row, float beta, float *c, int c_row);
void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                 double alpha, const double *a, int a_row, const double *b,
                 int b_row, double beta, double *c, int c_row);

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                 float alpha, const float *a, int a_row, const float *b,
                 int b_row, float beta, float *c, int c_row)
{
    if (!fails(INJECT_BLAS))
        REAL(cblas_sgemm)(order, trans_a, trans_b, m, n, k, alpha, a, a_row, b,
                          b_row, beta, c, c_row);
}

void cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                 double alpha, const double *a, int a_row, const double *b,
                 int b_row, double beta, double *c, int c_row)
{
    if (!fails(INJECT_BLAS))
        REAL(cblas_dgemm)(order, trans_a, trans_b, m, n, k, alpha, a, a_row, b,
                          b_row, beta, c, c_row);
}
