/** The least relay that the official SDK makes: a server over HTTP whose handlers ask a client over pipes. Port in the first argument. */
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [, , port, echo] = process.argv;
const upstream = new Client({ name: "relay", version: "1" });
await upstream.connect(new StdioClientTransport({ command: process.execPath, args: [echo] }));
const server = new Server({ name: "relay", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => upstream.listTools());
server.setRequestHandler(CallToolRequestSchema, ({ params }) => upstream.callTool(params));
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "one" });
await server.connect(transport);
createServer((request, response) => void transport.handleRequest(request, response)).listen(Number(port), "127.0.0.1");
