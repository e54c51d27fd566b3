// Hold the conversation that every foreign client holds with a server, and print what came back as one JSON object.
// Usage: conversation.mjs sdk1|client2 stdio|http|sse legacy|auto TARGET…   (a URL, or a command with its arguments)

const [, , library, transport, era, ...target] = process.argv;

async function connectWithSdk1() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const client = new Client({ name: "sdk1", version: "1.0.0" });
    if (transport === "stdio") {
        const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
        await client.connect(new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "ignore" }));
    } else if (transport === "http") {
        const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
        await client.connect(new StreamableHTTPClientTransport(new URL(target[0])));
    } else {
        const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
        await client.connect(new SSEClientTransport(new URL(target[0])));
    }
    return client;
}

async function connectWithClient2() {
    const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const options = era === "auto" ? { versionNegotiation: { mode: "auto" } } : {};
    const client = new Client({ name: "client2", version: "1.0.0" }, options);
    if (transport === "stdio") {
        const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
        await client.connect(new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "ignore" }));
    } else if (transport === "http") {
        await client.connect(new StreamableHTTPClientTransport(new URL(target[0])));
    } else {
        await client.connect(new SSEClientTransport(new URL(target[0])));
    }
    return client;
}

async function attempt(call) {
    try {
        return await call();
    } catch (error) {
        return { thrown: { code: error.code, message: error.message, data: error.data } };
    }
}

const client = library === "sdk1" ? await connectWithSdk1() : await connectWithClient2();
const call = (name, args) => attempt(() => client.callTool({ name, arguments: args }));
const said = {
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    good: await call("knowledge_search", { query: "verification plan", n_results: 2, detail: "full" }),
    empty: await call("knowledge_lookup", { term: "widgit" }),
    bad: await call("knowledge_search", { query: "", n_results: 0 }),
    misspelt: await call("knowledge_search", { query: "plan", n_result: 3 }),
    crash: await call("knowledge_search", { query: "crash" }),
    unknown: await call("knowledge_serach", {}),
    resources: (await client.listResources()).resources,
    templates: (await client.listResourceTemplates()).resourceTemplates,
    resource: await attempt(() => client.readResource({ uri: "knowledge://documents/example-standard" })),
    missing: await attempt(() => client.readResource({ uri: "knowledge://documents/nowhere" })),
    prompts: (await client.listPrompts()).prompts,
    prompt: await attempt(() => client.getPrompt({ name: "define_term", arguments: { term: "widget" } })),
    incomplete: await attempt(() => client.getPrompt({ name: "define_term", arguments: {} })),
    completed: await attempt(() =>
        client.complete({
            ref: { type: "ref/resource", uri: "knowledge://documents/{document_id}" },
            argument: { name: "document_id", value: "example-h" },
        }),
    ),
};
await client.close();
console.log(JSON.stringify(said));
process.exit(0);
