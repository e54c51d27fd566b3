// Ask one question again and again over one connection, and print how long each answer took as one JSON object.
// Usage: load.mjs sdk1|client2 http|sse URL TOKEN SECONDS TOOL ARGUMENTS-AS-JSON

const [, , library, transport, address, token, seconds, tool, args] = process.argv;
const url = new URL(address);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };

async function connect() {
    if (library === "sdk1") {
        const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
        const client = new Client({ name: "load", version: "1.0.0" });
        if (transport === "http") {
            const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
            await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
        } else {
            const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
            await client.connect(new SSEClientTransport(url, { requestInit }));
        }
        return client;
    }
    const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client({ name: "load", version: "1.0.0" });
    const made = transport === "http" ? StreamableHTTPClientTransport : SSEClientTransport;
    await client.connect(new made(url, { requestInit }));
    return client;
}

const client = await connect();
const end = performance.now() + 1000 * Number(seconds);
const milliseconds = [];
const errors = [];
while (performance.now() < end) {
    const started = performance.now();
    try {
        const answer = await client.callTool({ name: tool, arguments: JSON.parse(args) });
        if (answer.isError || answer.structuredContent?.status === "error") {
            errors.push(answer.content?.[0]?.text ?? "an error without text");
        }
        milliseconds.push(performance.now() - started);
    } catch (error) {
        errors.push(String(error));
    }
}
await client.close();
console.log(JSON.stringify({ milliseconds, errors }));
process.exit(0);
