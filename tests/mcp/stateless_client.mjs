// Exercises a tool server with the official client of 2026-07-28, which has no sessions. Fails on the first surprise.
// Usage: node stateless_client.mjs URL TOKEN
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, token] = process.argv.slice(2);
const version = "2026-07-28";

const client = new Client({ name: "chalk-test", version: "1" }, { versionNegotiation: { mode: { pin: version } } });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
});
await client.connect(transport);
assert.equal(client.getNegotiatedProtocolVersion(), version);
assert.equal(client.getServerVersion().name, "chalk");
assert.equal(transport.sessionId, undefined);

const listed = await client.listTools();
assert.equal(listed.tools[0].name, "echo");
const text = "grüße \u{1F600} end";
assert.equal((await client.callTool({ name: "echo", arguments: { text } })).content[0].text, text);
for (const args of [{ region: text, urgent: true }, { region: " us-west1" }, { region: "" }, {}]) {
  // The client repeats them in headers, which the server compares.
  assert.deepEqual(JSON.parse((await client.callTool({ name: "route", arguments: args })).content[0].text), args);
}
assert.equal((await client.callTool({ name: "fail", arguments: {} })).isError, true);
await assert.rejects(client.callTool({ name: "nope", arguments: {} }), (error) => error.code === -32602);
await assert.rejects(client.callTool({ name: "näme", arguments: {} }), (error) => error.code === -32602);

const many = await Promise.all(
  Array.from({ length: 200 }, (_, i) => client.callTool({ name: "echo", arguments: { text: `${i}` } })),
);
many.forEach((answer, i) => assert.equal(answer.content[0].text, `${i}`));

const steps = [];
await client.callTool(
  { name: "test_tool_with_progress", arguments: {} },
  { onprogress: (step) => void steps.push(step.progress / step.total) },
);
assert.deepEqual(steps, [0, 0.5, 1]);

const heard = [];
client.setNotificationHandler("notifications/message", (message) => void heard.push(message.params.data));
await client.callTool({
  name: "test_tool_with_logging",
  arguments: {},
  _meta: { "io.modelcontextprotocol/logLevel": "info" },
});
assert.equal(heard.length, 3);

const abort = new AbortController();
const cancelled = client.callTool({ name: "slow", arguments: { ms: 60_000 } }, { signal: abort.signal });
setTimeout(() => abort.abort("enough"), 200);
await assert.rejects(cancelled);

let changed;
const told = new Promise((resolve) => (changed = resolve));
client.setNotificationHandler("notifications/tools/list_changed", changed);
const subscription = await client.listen({ toolsListChanged: true });
await client.callTool({ name: "grow", arguments: {} });
await told;
await subscription.close();

await client.close();
console.log("official client, stateless: fine");
