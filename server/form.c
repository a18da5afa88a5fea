/* SPDX-License-Identifier: MIT */
/*
 * form - which forms there are, and how one is recognised: by its declared
 * media type, by the first bytes of a body, by what a client accepts.
 */
#include "form.h"

#include <string.h>
#include <strings.h>

/* Media types that name a form; the first row of a form is its own. */
static const struct {
    const char *media_type;
    const struct form *form;
} form_list[] = {
    { "application/json", &form_json },
};

#define FORM_ROWS (sizeof form_list / sizeof *form_list)

/* Does the header's value begin with this media type, parameters aside? */
static bool names(const char *value, const char *media_type)
{
    size_t n = strlen(media_type);

    value += strspn(value, " \t");
    return strncasecmp(value, media_type, n) == 0
        && strchr("; \t,", value[n]) != NULL;
}

const struct form *form_declared(const char *content_type)
{
    for (size_t i = 0; content_type != NULL && i < FORM_ROWS; i++)
        if (names(content_type, form_list[i].media_type))
            return form_list[i].form;
    return NULL;
}

const struct form *form_accepted(const char *accept)
{
    const struct form *json = form_list[0].form;

    while (accept != NULL && *accept != '\0') {
        const struct form *form = form_declared(accept);

        if (form != NULL && form != json)
            return form;
        accept = strchr(accept, ',');
        accept = accept == NULL ? NULL : accept + 1;
    }
    return json;
}

/* No other form begins with more white space than this. */
enum { BLANKS_MAX = 64 << 10 };

const struct form *form_of_body(const char *body, size_t length)
{
    const struct form *json = form_list[0].form;
    size_t start = 0, head = length < 8 ? length : 8;

    if (length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0)
        start = 3;
    while (start < length && start < BLANKS_MAX
           && strchr(" \t\r\n", body[start]) != NULL && body[start] != '\0')
        start++;
    if (start == BLANKS_MAX)
        return json;
    if (start < length && body[start] == '{'
        && memchr(body, '\0', head) == NULL)
        return json;
    return form_list[FORM_ROWS - 1].form;
}
