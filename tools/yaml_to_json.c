/* SPDX-License-Identifier: MIT */
/*
 * yaml_to_json - turns openapi.yaml into the JSON that the daemon serves at
 * /openapi.json. Runs while building, on the building machine. Comes in: a
 * YAML document of mappings, sequences and scalars, on standard input;
 * leaves: the same as one line of JSON, on standard output.
 */
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <yaml.h>

static json_t *convert(yaml_document_t *doc, int index);

/* An unquoted scalar is null, a boolean or a number where JSON says so. */
static json_t *convert_scalar(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    size_t length = node->data.scalar.length;
    json_t *value = NULL;

    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
    return value ? value : json_stringn(text, length);
}

static json_t *convert_sequence(yaml_document_t *doc, const yaml_node_t *node)
{
    json_t *list = json_array();
    const yaml_node_item_t *item = node->data.sequence.items.start;

    for (; item < node->data.sequence.items.top; item++)
        json_array_append_new(list, convert(doc, *item));
    return list;
}

static json_t *convert_mapping(yaml_document_t *doc, const yaml_node_t *node)
{
    json_t *object = json_object();
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;

    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(doc, pair->key);
        json_object_set_new(object, (const char *)key->data.scalar.value,
                            convert(doc, pair->value));
    }
    return object;
}

static json_t *convert(yaml_document_t *doc, int index)
{
    const yaml_node_t *node = yaml_document_get_node(doc, index);

    if (node->type == YAML_SEQUENCE_NODE)
        return convert_sequence(doc, node);
    if (node->type == YAML_MAPPING_NODE)
        return convert_mapping(doc, node);
    return convert_scalar(node);
}

int main(void)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    json_t *json = NULL;
    int status = 1;

    if (!yaml_parser_initialize(&parser))
        return 1;
    yaml_parser_set_input_file(&parser, stdin);
    if (!yaml_parser_load(&parser, &doc)) {
        fprintf(stderr, "yaml_to_json: line %zu: %s\n",
                parser.problem_mark.line + 1, parser.problem);
        goto out;
    }
    if (yaml_document_get_root_node(&doc))
        json = convert(&doc, 1);
    if (json && json_dumpf(json, stdout, JSON_COMPACT) == 0)
        status = putchar('\n') == EOF || fflush(stdout);
    json_decref(json);
    yaml_document_delete(&doc);
out:
    yaml_parser_delete(&parser);
    return status;
}
