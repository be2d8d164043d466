// Exercises a tool server with the official client, in each session version that it speaks. Fails on the first surprise.
// Usage: node client.mjs PORT TOKEN
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [port, token] = process.argv.slice(2);
const url = new URL(`http://127.0.0.1:${port}/mcp`);

async function connect(authorization = token) {
  const client = new Client({ name: "chalk-test", version: "1" });
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { Authorization: `Bearer ${authorization}` } },
  });
  await client.connect(transport);
  return { client, transport };
}

const { client, transport } = await connect();
assert.equal(client.getServerVersion().name, "chalk");
assert.ok(transport.sessionId);
await client.ping();

const listed = await client.listTools();
assert.deepEqual(listed.tools.map((tool) => tool.name), ["echo", "fail", "slow", "grow"]);

const text = "grüße \u{1F600} \u0000 end";
const said = await client.callTool({ name: "echo", arguments: { text } });
assert.equal(said.content[0].text, text);
assert.equal((await client.callTool({ name: "fail", arguments: {} })).isError, true);
const misfit = await client.callTool({ name: "echo", arguments: { text: 5 } });
assert.equal(misfit.isError, true);
assert.match(misfit.content[0].text, /arguments\.text/);
await assert.rejects(client.callTool({ name: "nope", arguments: {} }), (error) => error.code === -32602);
const big = "x".repeat(4_000_000);
assert.equal((await client.callTool({ name: "echo", arguments: { text: big } })).content[0].text.length, big.length);

// Many at once, more than a client has connections.
const many = await Promise.all(
  Array.from({ length: 200 }, (_, i) => client.callTool({ name: "echo", arguments: { text: `${i}` } })),
);
many.forEach((answer, i) => assert.equal(answer.content[0].text, `${i}`));

// A cancelled call rejects here and is told to the tool's owner (the caller of this script looks for it).
const abort = new AbortController();
const cancelled = client.callTool({ name: "slow", arguments: { ms: 60_000 } }, undefined, { signal: abort.signal });
setTimeout(() => abort.abort("enough"), 200);
await assert.rejects(cancelled);
await client.ping();

const changed = new Promise((resolve) =>
  client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
);
await client.callTool({ name: "grow", arguments: {} });
await changed;
assert.equal((await client.listTools()).tools.length, 5);

await transport.terminateSession();
await client.close();
await assert.rejects(connect("wrong-token"));
console.log("official client: fine");
