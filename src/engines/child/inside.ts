/**
 * The child's side of the pipe: reads a frame, runs the engine, writes a frame. Reads and writes are synchronous, so that a
 * turn of the engine costs two system calls and no turn of the event loop.
 *
 * Next: quickjs/inside-quickjs.ts (an engine that is driven by it).
 */
import { readSync, writeSync } from "node:fs";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import { frameOf, headerBytes } from "./encode-frame.ts";

/** An answer that is JSON text already: an object with at least one member. It is not parsed here. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type EngineReply = JsonObject | JsonText;
type EngineAnswer = EngineReply | Promise<JsonObject>;

/** An engine answers the host's questions. If it throws, the process ends and the host reports `crash`. */
export interface InsideEngine {
  start(order: JsonObject): EngineAnswer;
  restore(order: JsonObject): EngineAnswer;
  next(order: JsonObject): EngineReply;
  freeze(): EngineAnswer;
  /** Runs what scripts will run, so that the code is compiled. */
  rehearse?(): EngineAnswer;
  /** Forgets its script. Only for engines whose scripts leave nothing behind. */
  rest?(): EngineAnswer;
}

/** Changes from root to the user `nobody`. */
export function becomeNobody(): void {
  if (process.getuid?.() !== 0) return;
  const nobody = 65_534;
  process.setgroups?.([]);
  process.setgid?.(nobody);
  process.setuid?.(nobody);
}

/** Opens the engine with the host's first message, serves the host, and ends when the host closes the pipe. */
export async function serveHost(open: (hello: JsonObject) => Promise<InsideEngine>): Promise<never> {
  const hello = readMessage();
  if (hello === undefined) process.exit(0);
  const engine = await open(hello);
  writeFrame(textOf({ ready: true }, hello["token"] ?? null));
  for (;;) {
    const order = readMessage();
    if (order === undefined) process.exit(0);
    const given = answer(engine, order);
    const said = given instanceof Promise ? await given : given;
    writeFrame(textOf(said, order["token"] ?? null));
  }
}

function answer(engine: InsideEngine, order: JsonObject): EngineAnswer {
  switch (order["do"]) {
    case "rehearse":
      return engine.rehearse?.() ?? {};
    case "rest":
      return engine.rest?.() ?? {};
    case "start":
      return engine.start(order);
    case "restore":
      return engine.restore(order);
    case "next":
      return engine.next(order);
    case "freeze":
      return engine.freeze();
    default:
      throw new TypeError("The host sent an unknown message.");
  }
}

/** Bytes that were read and not used yet. A message of usual size needs one system call. */
const usual = Buffer.allocUnsafeSlow(64 * 1024);
let inbox = usual;
let from = 0;
let until = 0;

function readMessage(): JsonObject | undefined {
  if (!fill(headerBytes)) return undefined;
  const length = inbox.readUInt32BE(from);
  if (!fill(headerBytes + length)) return undefined;
  const start = from + headerBytes;
  from = start + length;
  const parsed: unknown = JSON.parse(inbox.toString("utf8", start, from));
  return isJsonObject(parsed) ? parsed : undefined;
}

/** Reads until so many bytes are there. Returns false when the host is gone. */
function fill(bytes: number): boolean {
  if (from === until) {
    inbox = usual; // a larger buffer served one message
    from = until = 0;
  }
  if (from + bytes > inbox.length) {
    const next = bytes > inbox.length ? Buffer.allocUnsafeSlow(bytes) : inbox;
    inbox.copy(next, 0, from, until);
    inbox = next;
    until -= from;
    from = 0;
  }
  while (until - from < bytes) {
    const read = readSync(0, inbox, until, inbox.length - until, null);
    if (read === 0) return false;
    until += read;
  }
  return true;
}

/** The token comes last, so that it replaces one that an engine wrote. */
function textOf(said: EngineReply, token: Json): string {
  if (said instanceof JsonText) return `${said.text.slice(0, -1)},"token":${JSON.stringify(token)}}`;
  return JSON.stringify({ ...said, token });
}

/** A buffer for answers of usual size. */
const outbox = Buffer.allocUnsafeSlow(16 * 1024);
const mostBytesOfUnit = 3;

function writeFrame(text: string): void {
  const frame = text.length * mostBytesOfUnit <= outbox.length - headerBytes ? usualFrame(text) : frameOf(text);
  for (let written = 0; written < frame.length; ) written += writeSync(1, frame, written);
}

function usualFrame(text: string): Buffer {
  const bytes = outbox.write(text, headerBytes);
  outbox.writeUInt32BE(bytes, 0);
  return outbox.subarray(0, headerBytes + bytes);
}
