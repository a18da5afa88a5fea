/* SPDX-License-Identifier: MIT */
/*
 * suite.c - a Check program in one call.
 */
#include "suite.h"

#include <stdlib.h>

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
