import type { Exchange } from "./exchange.ts";
import type { AwaitedRequests, ServerWire } from "./server-wire.ts";

export interface HttpReader {
  readonly wire: ServerWire;
  readonly asked: AwaitedRequests;
  readonly exchange: Exchange | undefined;
}

/** The body of a JSON answer, as the SDK can read it. */
export async function heardJson(body: Buffer, { wire, asked }: HttpReader): Promise<Buffer> {
  const { messages, asSent } = await wire.hearLarge(body, asked);
  const [first] = messages;
  const id = asked.only();
  if (messages.length === 1 && Number(first?.["id"]) !== Number(id) && typeof id === "number") {
    const other = JSON.stringify(first?.["id"] ?? null);
    return Buffer.from(JSON.stringify(wire.unreadable(id, `has the \`id\` ${other}, the request has ${id}`, asked)));
  }
  if (asSent) return body;
  if (first !== undefined) return Buffer.from(JSON.stringify(messages.length === 1 ? first : messages));
  const what = body.length === 0 ? "is empty" : `is no JSON-RPC message: \`${body.toString("utf8", 0, 60)}\``;
  const error = wire.unreadable(asked.only(), what, asked);
  return error === undefined ? body : Buffer.from(JSON.stringify(error));
}

const division = /(\r\n\r\n|\n\n|\r\r)/;

/** Whole server-sent events, without those that nobody needs. */
export async function heardEvents(events: Buffer, hearing: HttpReader): Promise<Buffer> {
  const pieces = events.toString("utf8").split(division);
  let isSame = true;
  let text = "";
  for (let at = 0; at < pieces.length; at += 2) {
    const event = pieces[at] ?? "";
    const end = pieces[at + 1] ?? "";
    const heard = await heardEvent(event, hearing);
    isSame &&= heard === event;
    if (heard !== "") text += heard + end;
  }
  return isSame ? events : Buffer.from(text);
}

const field = /^(id|retry|event|data)(?::[ ]?(.*))?$/;

async function heardEvent(event: string, { wire, asked, exchange }: HttpReader): Promise<string> {
  const others: string[] = [];
  const data: string[] = [];
  let type = "message";
  for (const line of event.split(/\r\n|\n|\r/)) {
    const [, name, value = ""] = field.exec(line) ?? [];
    if (name === "data") data.push(value);
    else others.push(line);
    if (name === "event" && value !== "") type = value;
    if (name === "id" && value !== "") exchange?.resumable();
    if (name === "retry" && /^\d+$/.test(value)) exchange?.retryAfter(Number(value));
  }
  if (data.join("") === "" || type !== "message") return event;
  const { messages, asSent } = await wire.hearLarge(Buffer.from(data.join("\n")), asked);
  if (asSent) return event;
  const kept = others.filter((line) => line !== "").join("\n");
  const head = kept === "" ? "" : `${kept}\n`;
  if (messages.length === 0) return kept === "" ? "" : `${head}data: `; // its id is where the stream is resumed
  return messages.map((message) => `${head}data: ${JSON.stringify(message)}`).join("\n\n");
}
