#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Draws who looks at whom: the weights A of a causal call in which keys count
// less the farther away they are (ALiBi), one row a query.
//
// usage: node weights.js [URL]
const url = process.argv[2] ?? "http://127.0.0.1:8080";
const n = 12, d = 4;

async function attention(request) {
  const reply = await fetch(`${url}/attention`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  const answer = await reply.json().catch(() => (
    { detail: "the reply is no JSON", code: reply.status }));
  if (!answer.A) throw new Error(`${answer.detail} (${answer.code})`);
  return answer;
}

function wave(phase) {
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: d }, (_, c) => Math.cos(phase + i * (c + 1))));
}

async function main() {
  const { A, stats } = await attention({
    Q: wave(0), K: wave(1), V: wave(2), causal: true, alibi: [0.2],
    return: ["A", "stats"],
  });
  for (const row of A)
    console.log(row.map((a) => " .:-=+*#%@"[Math.round(9 * a)]).join(" "));
  console.log(`each query looks at about ${
    Math.exp(stats.A_entropy_mean).toFixed(1)} keys`);
}

main().catch((error) => {
  const { message, code } = error.cause ?? error;
  console.error(`${url}: ${message || code}`);
  process.exitCode = 1;
});
