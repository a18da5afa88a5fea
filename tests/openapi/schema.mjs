// SPDX-License-Identifier: MIT
// OpenAPI 3.0 writes JSON Schema in its own way: `nullable`, and booleans for
// exclusive bounds. Comes in: the document; leaves: validators by name, and
// the names of members that a schema does not know.
import Ajv from "ajv";

function convert(schema) {
  if (Array.isArray(schema)) return schema.map(convert);
  if (schema === null || typeof schema !== "object") return schema;
  const { nullable, exclusiveMinimum, example, ...rest } = schema;
  const out = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, convert(value)]));
  if (nullable === true) out.type = [out.type, "null"];
  if (exclusiveMinimum === true) {
    out.exclusiveMinimum = out.minimum;
    delete out.minimum;
  }
  return out;
}

export class Schemas {
  constructor(openapi) {
    this.ajv = new Ajv({ strict: true, strictTypes: false, allErrors: false });
    this.ajv.addVocabulary(["components"]);
    this.schemas = openapi.components.schemas;
    this.ajv.addSchema(
      { $id: "openapi", components: { schemas: convertMap(this.schemas) } });
    this.texts = new Map();
  }

  // Null if the value fits the schema of that name, else what does not fit.
  misfit(name, value) {
    return this.run(`openapi#/components/schemas/${name}`, value);
  }

  // The same for a schema that stands in the document and has no name.
  misfitInline(schema, value) {
    const key = JSON.stringify(schema);
    if (!this.texts.has(key)) {
      const absolute = key.replaceAll('"#/components', '"openapi#/components');
      const id = `inline${this.texts.size}`;
      this.ajv.addSchema({ $id: id, ...convert(JSON.parse(absolute)) });
      this.texts.set(key, id);
    }
    return this.run(this.texts.get(key), value);
  }

  run(id, value) {
    const validate = this.ajv.getSchema(id);
    if (!validate) throw new Error(`no schema ${id}`);
    return validate(value) ? null : this.ajv.errorsText(validate.errors);
  }

  // Members of an object that its schema does not list.
  unlisted(name, value) {
    const known = this.schemas[name].properties;
    return Object.keys(value).filter((member) => !(member in known));
  }
}

function convertMap(schemas) {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, convert(schema)]));
}
