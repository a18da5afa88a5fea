/* SPDX-License-Identifier: MIT */
/*
 * config_print - the table as --help, --print-config and docs/options.md.
 */
#include <string.h>

#include "config_table.h"

/* Continues the text at column 28, in lines of at most 79. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > 79) {
            fprintf(out, "\n%27s", "");
            column = 27;
        }
        fprintf(out, " %.*s", length, text);
        column += 1 + length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

void config_print_help(FILE *out)
{
    fputs("attentiond - exact attention as a network service\n\n"
          "usage: attentiond [--flag value | --flag=value]...\n\n"
          "Every flag but the last group is also read from the environment, "
          "--io-threads\nfrom ATTENTIOND_IO_THREADS; a flag wins. Bytes may "
          "be written as 64k, 2GiB,\ntimes as 500ms, 2s, 1m.\n",
          out);
    for (size_t i = 0; i < CONFIG_ROWS; i++) {
        const struct config_row *s = &config_table[i];
        char left[64], text[256];
        if (s->group)
            fprintf(out, "\n%s:\n", s->group);
        snprintf(left, sizeof left, "  --%s%s%s", s->flag, s->unit ? " " : "",
                 s->unit ? s->unit : "");
        bool plain = s->kind == ACTION || s->kind == SWITCH;
        snprintf(text, sizeof text, plain ? "%s" : "%s [%s]", s->help,
                 s->fallback);
        int column = fprintf(out, "%-27s", left);
        if (column > 27)
            column = fprintf(out, "\n%27s", "") - 1;
        print_wrapped(out, text, column);
    }
    fputs("\nEnds with 0 after a drain, 1 on a failure, 2 on a wrong setting, "
          "3 if the port\ncannot be had.\n",
          out);
}

static void print_value(FILE *out, const struct config_row *s)
{
    const char *word;
    size_t n;

    switch (s->kind) {
    case TEXT:
    case NETWORKS:
        fputs(*(const char **)s->at, out);
        break;
    case CHOICE:
        word = config_word(s, *(int *)s->at, &n);
        fprintf(out, "%.*s", (int)n, word);
        break;
    case SWITCH:
        fputs(*(bool *)s->at ? "true" : "false", out);
        break;
    case NUMBER:
    case SECONDS:
        fprintf(out, "%.15g", *(double *)s->at);
        break;
    default:
        fprintf(out, "%lld", (long long)*(int64_t *)s->at);
    }
}

void config_print(FILE *out)
{
    for (size_t i = 0; i < CONFIG_ROWS && config_table[i].kind != ACTION; i++) {
        char name[CONFIG_VARIABLE_MAX];
        fprintf(out, "%s = ", config_table[i].flag);
        print_value(out, &config_table[i]);
        fprintf(out, " (%s)\n",
                config_from[i] == FROM_DEFAULT ? "default"
                : config_from[i] == FROM_FLAG  ? "flag"
                : config_from[i] == FROM_PORT  ? "PORT"
                : config_variable(&config_table[i], name));
    }
}

void config_print_options_doc(FILE *out)
{
    fputs("# Settings\n\n"
          "Made by `attentiond --print-options-doc`; do not edit. A flag wins "
          "over its\nvariable, a variable over the default. Bytes may be "
          "written as `64k`, `2GiB`,\ntimes as `500ms`, `2s`, `1m`.\n",
          out);
    for (size_t i = 0; i < CONFIG_ROWS && config_table[i].kind != ACTION; i++) {
        const struct config_row *s = &config_table[i];
        char name[CONFIG_VARIABLE_MAX], room[CONFIG_RULE_MAX];
        if (s->group)
            fprintf(out, "\n## %s\n\n| flag | variable | default | value | "
                         "meaning |\n|---|---|---|---|---|\n", s->group);
        fprintf(out, "| `--%s` | `%s` | `%s` | %s | %s |\n", s->flag,
                config_variable(s, name), s->fallback, config_rule(s, room),
                s->help);
    }
}
