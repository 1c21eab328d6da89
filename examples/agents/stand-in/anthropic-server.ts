/** A stand-in for Anthropic's server: it asks for one tool use, and ends when it has read the result. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export async function anthropicServer(use: { readonly name: string; readonly input: object }): Promise<{
  readonly url: string;
  close(): void;
}> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of eventsOf(use, body.includes('"tool_result"')))
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

function eventsOf({ name, input }: { readonly name: string; readonly input: object }, isAnswered: boolean) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const start = { type: "message", role: "assistant", model: "claude", content: [], stop_reason: null, usage };
  const [block, delta] = isAnswered
    ? [
        { type: "text", text: "" },
        { type: "text_delta", text: "Ada knows." },
      ]
    : [
        { type: "tool_use", id: "toolu_1", name, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ];
  return [
    { type: "message_start", message: { id: isAnswered ? "msg_2" : "msg_1", ...start } },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: isAnswered ? "end_turn" : "tool_use" }, usage },
    { type: "message_stop" },
  ];
}
