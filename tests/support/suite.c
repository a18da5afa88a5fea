/* SPDX-License-Identifier: MIT */
/*
 * suite.c - a Check program in one call.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention.h"

int suite_run(const char *name, const TTest *const *tests,
              void (*setup)(void), void (*teardown)(void), double seconds)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, seconds);
    tcase_add_checked_fixture(tcase, setup, teardown);
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

void suite_init_library(void)
{
    const char *wanted = getenv("TEST_ENGINE");
    enum attn_engine engine = ATTN_ENGINE_AUTO, used;

    if (wanted && strcmp(wanted, "native") == 0)
        engine = ATTN_ENGINE_NATIVE;
    if (wanted && strcmp(wanted, "openblas") == 0)
        engine = ATTN_ENGINE_OPENBLAS;
    used = attn_init(engine);
    if (used != ATTN_ENGINE_REFERENCE
        && (engine == ATTN_ENGINE_AUTO || used == engine))
        return;
    fprintf(stderr, "the engine %s fails its test\n",
            attn_engine_name(engine));
    exit(EXIT_FAILURE);
}
