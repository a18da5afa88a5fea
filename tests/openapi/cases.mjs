// SPDX-License-Identifier: MIT
// What is validated: the folders of tests/cases, the vectors with their rules
// expanded (tests/vectors/rules.py tells what they mean), the pairs in the
// documents. Paths are from the root of the tree.
import { readFileSync, readdirSync } from "node:fs";

export function folders(kind) {
  return readdirSync(`tests/cases/${kind}`).map((claim) => ({
    name: `${kind}/${claim}`,
    body: readFileSync(`tests/cases/${kind}/${claim}/request.json`),
  }));
}

function* draws(seed, count) {
  let state = BigInt(seed);
  for (let i = 0; i < count; i++) {
    state = BigInt.asUintN(
      64, state * 6364136223846793005n + 1442695040888963407n);
    yield Number(state >> 33n);
  }
}

function expand(rule) {
  const { shape, seed, steps, size, percent, left, put = [] } = rule;
  const count = shape.reduce((a, b) => a * b);
  const make = {
    noise: () => Array.from(
      draws(seed, count), (x) => ((x % (2 * steps + 1)) - steps) * size),
    coins: () => Array.from(draws(seed, count), (x) => x % 100 < percent),
    band: () => Array.from({ length: count }, (_, at) => {
      const i = Math.floor(at / shape[1]), j = at % shape[1];
      return i - left <= j && j <= i;
    }),
  };
  let flat = make[rule.rule]();
  for (const [index, value] of put) flat[index] = value;
  for (const n of shape.slice(1).reverse())
    flat = Array.from({ length: flat.length / n },
      (_, i) => flat.slice(i * n, (i + 1) * n));
  return flat;
}

function expanded(object) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => {
    if (value?.rule) return [name, expand(value)];
    const plain = value === null || typeof value !== "object" ||
      Array.isArray(value);
    return [name, plain ? value : expanded(value)];
  }));
}

export function vectors() {
  return readdirSync("tests/vectors").filter((file) => file.endsWith(".json"))
    .map((file) => {
      const text = readFileSync(`tests/vectors/${file}`, "utf8");
      const request = expanded(JSON.parse(text).request);
      return { name: `vectors/${file}`, body: JSON.stringify(request) };
    });
}

export function pairs(file) {
  const text = readFileSync(file, "utf8");
  const blocks = [...text.matchAll(/^```json (\w+)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, kind, body], i) => kind !== "request" ? [] :
    [{ name: `${file} ${i / 2 + 1}`, body, kind: blocks[i + 1][1] }]);
}
