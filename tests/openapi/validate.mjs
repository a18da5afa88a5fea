// SPDX-License-Identifier: MIT
// usage: node validate.mjs URL, from the root of the tree
// Asks a daemon all that the tree knows to ask, and holds requests, replies
// and problems against the schemas that the daemon itself serves. Prints what
// does not fit; ends with 1 if there is anything.
import { folders, pairs, vectors } from "./cases.mjs";
import { Schemas } from "./schema.mjs";

const url = process.argv[2];
const openapi = await (await fetch(`${url}/openapi.json`)).json();
const schemas = new Schemas(openapi);
const counts = {};
let faults = 0;

function check(what, name, fits, why) {
  counts[what] = (counts[what] ?? 0) + 1;
  if (fits) return;
  faults++;
  console.log(`${what}: ${name}: ${why}`);
}

function checkFits(what, name, schema, value) {
  const misfit = schemas.misfit(schema, value);
  check(what, name, misfit === null, misfit);
}

function checkClosed(what, name, schema, value) {
  checkFits(what, name, schema, value);
  const more = schemas.unlisted(schema, value);
  check(what, name, more.length === 0, `not in ${schema}: ${more}`);
}

// Undefined where it is no JSON that the daemon would take for some.
function parsed(body) {
  try {
    return JSON.parse(body.toString().replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

async function post(body) {
  const reply = await fetch(`${url}/attention`, { method: "POST", body });
  return { status: reply.status, answer: await reply.json() };
}

async function checkAccepted({ name, body }) {
  const request = parsed(body);
  const { status, answer } = await post(body);
  checkFits("requests", name, "AttentionRequest", request);
  check("requests", name, status === 200, `${status} ${answer.detail}`);
  checkFits("replies", name, "AttentionReply", answer);
  const asked = [...(request.return ?? ["output", "A"])].sort();
  const got = Object.keys(answer).filter((n) => n !== "warnings").sort();
  check("replies", name, `${asked}` === `${got}`, `has ${got}`);
}

// A wrong name or type is what a schema can see, so it has to.
const visible = ["unknown_member", "wrong_type"];

async function checkRefused({ name, body }) {
  const { status, answer } = await post(body);
  check("problems", name, status >= 400, `${status}`);
  checkClosed("problems", name, "Problem", answer);
  const codes = schemas.schemas.ProblemCode.enum;
  check("problems", name, codes.includes(answer.code), answer.code);
  const request = parsed(body);
  if (request !== undefined && visible.includes(answer.code))
    check("refused by the schema too", name,
      schemas.misfit("AttentionRequest", request) !== null, answer.detail);
}

// ---------------------------------------------------------------- examples

async function checkExamples() {
  const { requestBody, responses } = openapi.paths["/attention"].post;
  const asked = requestBody.content["application/json"].examples;
  for (const [name, { value }] of Object.entries(asked))
    await checkAccepted({ name, body: JSON.stringify(value) });
  const shown = responses["200"].content["application/json"].examples;
  for (const [name, { value }] of Object.entries(shown))
    checkFits("examples", name, "AttentionReply", value);
  walk(openapi, "");
}

// Every example that stands beside or in a schema fits it.
function walk(node, path) {
  if (node === null || typeof node !== "object") return;
  const schema = node.schema ?? (node.type || node.oneOf ? node : undefined);
  if (schema && "example" in node && !path.endsWith("/properties")) {
    const misfit = schemas.misfitInline(schema, node.example);
    check("examples", path, misfit === null, misfit);
  }
  for (const [name, value] of Object.entries(node))
    if (!name.startsWith("example")) walk(value, `${path}/${name}`);
}

// ------------------------------------------------- the rest of the surface

async function checkGet(path, operation) {
  const reply = await fetch(url + path);
  const type = reply.headers.get("content-type").split(";")[0];
  const listed = operation.responses[reply.status];
  const response = listed?.$ref
    ? openapi.components.responses[listed.$ref.split("/").pop()] : listed;
  check("addresses", path, type in (response?.content ?? {}),
    `${reply.status} ${type} is not listed`);
  const name = response.content[type].schema.$ref?.split("/").pop();
  if (name) checkClosed("addresses", path, name, await reply.json());
}

async function checkAddresses() {
  for (const [path, { get }] of Object.entries(openapi.paths))
    if (get) await checkGet(path, get);
  const info = await (await fetch(`${url}/info`)).json();
  checkClosed("addresses", "limits", "Limits", info.limits);
  checkClosed("addresses", "threads", "Threads", info.threads);
  for (const [method, path] of [["GET", "/nowhere"], ["PUT", "/attention"]]) {
    const reply = await fetch(url + path, { method });
    checkClosed("addresses", path, "Problem", await reply.json());
  }
}

// --------------------------------------------------- what has to be refused

const QKV = { Q: [[1]], K: [[1]], V: [[1]] };
const misfits = [
  { ...QKV, q: [[1]] }, { ...QKV, Q: "1" }, { ...QKV, Q: [] },
  { ...QKV, Q: [1] }, { ...QKV, Q: [["nan"]] }, { ...QKV, Q: [[null]] },
  { ...QKV, Q: [[[[[1]]]]] }, { ...QKV, Q: [[1], 1] }, { ...QKV, mask: [1] },
  { ...QKV, bias: [true] }, { ...QKV, softcap: 0 }, { ...QKV, num_heads: 0 },
  { ...QKV, num_heads: 1.5 }, { ...QKV, causal: null }, { ...QKV, scale: "1" },
  { ...QKV, offset: "start" }, { ...QKV, window: { left: -1 } },
  { ...QKV, window: 3 }, { ...QKV, rope: { base: 0 } },
  { ...QKV, rope: { dim: null } }, { ...QKV, dtype: "float16" },
  { ...QKV, return: [] }, { ...QKV, return: ["output", "output"] },
  { ...QKV, return: ["weights"] }, { ...QKV, score: { type: "cosine" } },
  { ...QKV, key_lengths: [-1] }, [QKV], null,
];

async function checkMisfits() {
  for (const request of misfits) {
    const body = JSON.stringify(request), { status } = await post(body);
    check("refused by the schema too", body,
      schemas.misfit("AttentionRequest", request) !== null, "fits");
    check("refused by the schema too", body, status === 400 || status === 422,
      `status ${status}`);
  }
  for (const reply of [{ A: 1 }, { lse: [[[[1]]]] }, { output: [[null]] },
    { weights: [[1]] }, { warnings: [] }, { stats: { empty_rows: 0 } }])
    check("replies that do not fit", JSON.stringify(reply),
      schemas.misfit("AttentionReply", reply) !== null, "fits");
  check("replies that do not fit", "a code that is none",
    schemas.misfit("ProblemCode", "oops") !== null, "fits");
}

// Some at a time, so that a busy machine does not make it long.
async function all(list, check) {
  const waiting = list.values();
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (const each of waiting) await check(each);
  }));
}

const shown = [...pairs("docs/attention.md"), ...pairs("README.md")];
const isProblem = ({ kind }) => kind === "problem";
await all([...folders("accepted"), ...vectors(),
  ...shown.filter((pair) => !isProblem(pair))], checkAccepted);
await all([...folders("refused"), ...shown.filter(isProblem)], checkRefused);
await checkExamples();
await checkAddresses();
await checkMisfits();
console.log(Object.entries(counts).map(([what, n]) => `${n} ${what}`)
  .join(", "));
process.exitCode = faults > 0 ? 1 : 0;
