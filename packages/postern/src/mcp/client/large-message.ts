/**
 * Reads large messages of servers on a worker thread, because parsing them would stop every other call.
 *
 * The structured content of an answer comes back as text with its facts, because the main thread would have to build a value
 * again. The worker runs this same file.
 */
import { parentPort, Worker, workerData } from "node:worker_threads";
import { isJsonObject, type Json, type JsonObject, messageOf } from "@postern/core";
import { sourceOptions } from "@postern/core/system";
import { wellFormedJson } from "../../results/clean.ts";
import { factsOf, LargeJson } from "../../results/large-json.ts";
import { withoutDepths } from "./deep-values.ts";
import { readServerMessage, type ServerMessage } from "./server-message.ts";

/** Messages of more bytes are read on the worker thread. */
export const largeBytes: number = 1024 * 1024;
/** Structured content of fewer characters stays in its message. */
const fewCharacters = 512 * 1024;

export type LargeMessage = ServerMessage & { readonly large?: LargeJson };

interface Job {
  readonly id: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type ReadResult = { readonly id: number } & ({ readonly read: readonly LargeMessage[] } | { readonly why: string });

interface WaitingRead {
  readonly resolve: (read: readonly LargeMessage[]) => void;
  readonly reject: (error: Error) => void;
}

const role = "reads large messages";
const waiting = new Map<number, WaitingRead>();
let worker: Worker | undefined;
let lastId = 0;

/** As `readServerMessage`. Rejects when the worker cannot read it, for example for lack of memory. */
export function readLargeMessage(bytes: Buffer): Promise<readonly LargeMessage[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly LargeMessage[]>();
  lastId += 1;
  waiting.set(lastId, { resolve, reject });
  worker ??= started();
  worker.ref();
  const own = new Uint8Array(bytes);
  worker.postMessage({ id: lastId, bytes: own } satisfies Job, [own.buffer]);
  return promise;
}

function started(): Worker {
  const made = new Worker(new URL(import.meta.url), { workerData: role, env: {}, execArgv: [...sourceOptions] });
  made.on("message", (done: ReadResult) => {
    const asked = waiting.get(done.id);
    waiting.delete(done.id);
    if (waiting.size === 0) made.unref();
    if ("why" in done) asked?.reject(new Error(done.why));
    else asked?.resolve(done.read.map(withLarge));
  });
  const onEnd = (why: string): void => {
    if (worker !== made) return;
    worker = undefined;
    for (const { reject } of waiting.values()) reject(new Error(why));
    waiting.clear();
  };
  made.on("error", (error) => onEnd(messageOf(error)));
  made.on("exit", () => onEnd("the worker thread ended"));
  return made;
}

/** A value loses its class between threads. */
function withLarge(read: LargeMessage): LargeMessage {
  return read.large === undefined ? read : { ...read, large: new LargeJson(read.large) };
}

function divided(read: ServerMessage): LargeMessage {
  if (read.kind === "unreadable") return read;
  const { result } = read.message;
  if (!isJsonObject(result)) return read;
  const { structuredContent: value, content, tools } = result;
  if (Array.isArray(tools)) {
    const shallow = (tools as readonly Json[]).map(withoutDepths); // a value that is too deep cannot be sent to another thread
    return { ...read, message: { ...read.message, result: { ...result, tools: shallow } } };
  }
  if (typeof value !== "object" || value === null) return read;
  const text = wellFormedJson(JSON.stringify(value));
  if (text.length < fewCharacters) return read;
  const message = { ...read.message, result: { ...result, structuredContent: Array.isArray(value) ? [] : {} } };
  const large: LargeJson = { text, facts: factsOf(value), isRepeated: isRepeated(value, text, content), value: null };
  return { ...read, message, large };
}

/** Whether the answer's only text is the structured content: as JSON, often indented, or as its only member. */
function isRepeated(value: Json & object, text: string, content: Json | undefined): boolean {
  if (!Array.isArray(content) || content.length !== 1) return false;
  const [block] = content as readonly Json[];
  const repeated = isJsonObject(block ?? null) ? (block as JsonObject)["text"] : undefined;
  if (typeof repeated !== "string") return false;
  const members = Array.isArray(value) ? [] : Object.values(value);
  if (repeated === text || (members.length === 1 && members[0] === repeated)) return true;
  if (repeated.length < text.length || !/^\s*[[{]/.test(repeated)) return false;
  try {
    return JSON.stringify(JSON.parse(repeated)) === text;
  } catch {
    return false; // it is not JSON
  }
}

if (workerData === role)
  parentPort?.on("message", ({ id, bytes }: Job) => {
    try {
      const read = readServerMessage(Buffer.from(bytes.buffer).toString()).map(divided);
      parentPort?.postMessage({ id, read } satisfies ReadResult);
    } catch (error) {
      parentPort?.postMessage({ id, why: messageOf(error) } satisfies ReadResult);
    }
  });
