// Exercises a tool server with the official client of the versions with sessions. Fails on the first surprise.
// Usage: node session_client.mjs URL TOKEN
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [address, token] = process.argv.slice(2);
const url = new URL(address);

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
assert.deepEqual(listed.tools.slice(0, 5).map((tool) => tool.name), ["echo", "route", "fail", "slow", "grow"]);

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
assert.equal((await client.listTools()).tools.length, listed.tools.length + 1);

// What a tool says while it is called comes in order, and before its result.
const heard = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => void heard.push(message.params));
await client.callTool({ name: "test_tool_with_logging", arguments: {} });
assert.deepEqual(heard, []); // nobody asked for it
await client.setLoggingLevel("info");
await client.callTool({ name: "test_tool_with_logging", arguments: {} });
assert.deepEqual(heard.map((params) => params.data.split(" ").at(-1)), ["started", "data", "completed"]);
assert.equal(heard[0].logger, "test_tool_with_logging");
await client.setLoggingLevel("error");
await client.callTool({ name: "test_tool_with_logging", arguments: {} });
assert.equal(heard.length, 3);

const steps = [];
await client.callTool({ name: "test_tool_with_progress", arguments: {} }, undefined, {
  onprogress: (step) => void steps.push(step.progress / step.total),
});
assert.deepEqual(steps, [0, 0.5, 1]);

// The server ends the stream, the client comes back for the result.
assert.equal(
  (await client.callTool({ name: "test_reconnection", arguments: {} })).content[0].text,
  "reconnected",
);

await transport.terminateSession();
await client.close();
await assert.rejects(connect("wrong-token"));
console.log("official client, with sessions: fine");
