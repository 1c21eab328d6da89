/**
 * A real MCP server of revision 2025-11-25 with large or malformed answers, over pipes or, with the argument `http`, over
 * Streamable HTTP on a port that it prints on its error stream.
 *
 * `large` answers with `bytes` of text or with `rows` of structured content (`broken`: no JSON). `id` is the place of the
 * message's id: `first`, `last` or `nowhere`. `waiting` is answered after the `large` that has `beside`, in either order of
 * arrival. `blocks` answers with an invalid block.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Asked;
  };
}

interface Asked {
  readonly bytes?: number;
  readonly rows?: number;
  readonly broken?: boolean;
  readonly id?: string;
  readonly as?: string;
  readonly beside?: boolean;
}

type Say = (text: string) => void;

const inputSchema = { type: "object" };
const tools: readonly unknown[] = [
  { name: "large", description: "Answers with much.", inputSchema },
  { name: "waiting", description: "Answers after `large`.", inputSchema },
  { name: "blocks", description: "Answers with what is no block.", inputSchema },
  { name: "bare", inputSchema: {} },
  { name: "listing", inputSchema: { type: "array" } },
  { description: "has no name", inputSchema },
  "no object",
  { name: "worded", description: 5, inputSchema },
  { name: "schemed", inputSchema: { type: "object", required: "a" } },
  { name: "formed", inputSchema, outputSchema: { type: "array" } },
  { name: "hinted", inputSchema, annotations: { readOnlyHint: "yes" } },
  { name: "decorated", inputSchema, icons: 5, _meta: 5, execution: 5 },
];

/** The answers that wait until both requests of a pair have arrived. */
const pair: { large?: () => void; waiting?: () => void } = {};

function together(): void {
  const { large: first, waiting: second } = pair;
  if (first === undefined || second === undefined) return;
  first();
  second();
  delete pair.large;
  delete pair.waiting;
}

function answer({ id, method, params }: Message, say: Say): void {
  const result = (value: object): void => say(JSON.stringify({ jsonrpc: "2.0", id, result: value }));
  const text = (output: string): void => result({ content: [{ type: "text", text: output }] });
  if (method === "initialize") {
    const serverInfo = { name: "large", version: "1" };
    result({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
  } else if (method === "ping") result({});
  else if (method === "tools/list") result({ tools });
  else if (method !== "tools/call")
    say(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message: "Method not found" } }));
  else if (params?.name === "waiting") {
    pair.waiting = () => text("waited");
    together();
  } else if (params?.name === "blocks") result({ content: [{ type: "text" }, 5] });
  else if (params?.name === "large") {
    const { arguments: asked = {} } = params;
    pair.large = () => say(large(id, asked));
    if (asked.beside !== true) pair.waiting = () => {};
    together();
  } else text(`ran ${params?.name}`);
}

/** Returns the answer. Its text contains "id":1 too, as any text can. */
function large(id: Message["id"], { bytes = 1, rows, broken, id: place = "first" }: Asked): string {
  const text = JSON.stringify('{"id":1},'.padEnd(bytes, "x"));
  const row = (at: number): string => `{"at":${at},"name":"s\\u006fmebody","__proto__":[${at}]}`;
  const list = Array.from({ length: rows ?? 0 }, (_, at) => row(at)).join(broken === true ? ",," : ",");
  const result =
    rows === undefined
      ? `"result":{"content":[{"type":"text","text":${text}}]}`
      : `"result":{"content":[],"structuredContent":{"rows":[${list}],"total":${rows}}}`;
  if (place === "first") return `{"jsonrpc":"2.0","id":${id},${result}}`;
  if (place === "last") return `{${result},"jsonrpc":"2.0","id":${id}}`;
  return `{${result},"id":${id},"extra":{"id":1}}`;
}

function overPipes(): void {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const message: Message = JSON.parse(line);
    if (message.id !== undefined) answer(message, (text) => void process.stdout.write(`${text}\n`));
  });
}

async function overHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  const message: Message = JSON.parse(Buffer.concat(parts).toString());
  if (message.id === undefined) return void response.writeHead(202).end();
  const isJson = message.params?.arguments?.as === "json";
  response.writeHead(200, { "content-type": isJson ? "application/json" : "text/event-stream" });
  answer(message, (text) => void response.end(isJson ? text : `id: 7\ndata: ${text}\n\n`));
}

if (process.argv[2] === "http") {
  const server = createServer((request, response) => void overHttp(request, response));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object") process.stderr.write(`${address?.port}\n`);
  });
} else overPipes();
