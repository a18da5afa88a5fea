// SPDX-License-Identifier: MIT
// usage: node client.js URL
// A client whose types are generated from openapi.yaml: that it compiles under
// --strict is half of the test, that the daemon answers it the other half.
import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

type Reply = components["schemas"]["AttentionReply"];
type Code = components["schemas"]["ProblemCode"];

const client = createClient<paths>({ baseUrl: process.argv[2]! });

function demand(claim: boolean, text: string): void {
  if (!claim) throw new Error(text);
}

async function computes(): Promise<void> {
  const { data, response } = await client.POST("/attention", {
    params: { header: { "Request-Timeout": 60 } },
    body: {
      Q: [[1, 0], [0, 1]], K: [[1, 0], [0, 1]], V: [[10, 0], [0, 10]],
      window: { left: 1, right: null }, bias: [[0, "-Infinity"], [0, 0]],
      return: ["output", "A", "lse"],
    },
  });
  const reply: Reply = data!;
  demand(response.status === 200, `status ${response.status}`);
  demand(JSON.stringify(reply.output?.[0]) === "[10,0]", "a wrong output");
  demand(reply.A?.length === 2 && reply.lse?.length === 2, "a wrong shape");
}

async function isRefused(): Promise<void> {
  const { error } = await client.POST("/attention", {
    body: { Q: [[1, 2]], K: [[1]], V: [[1]] },
  });
  const code: Code = error!.code;
  demand(code === "shape_mismatch" && error!.pointer === "/K", error!.detail);
}

async function asks(): Promise<void> {
  const { data: info } = await client.GET("/info");
  const { data: health } = await client.GET("/readyz");
  demand(info!.limits.queue > 0 && health!.status === "ok", "no service");
}

// What the document does not allow does not compile.
export const wrong: components["schemas"]["AttentionRequest"][] = [
  // @ts-expect-error: an unknown member
  { Q: [[1]], K: [[1]], V: [[1]], attn_mask: [[true]] },
  // @ts-expect-error: not a tensor
  { Q: 1, K: [[1]], V: [[1]] },
  // @ts-expect-error: a word that is none
  { Q: [[1]], K: [[1]], V: [[1]], dtype: "float16" },
  // @ts-expect-error: numbers are no mask
  { Q: [[1]], K: [[1]], V: [[1]], mask: [1, 0] },
];

await computes();
await isRefused();
await asks();
