/**
 * The child's side of the pipe: reads a frame, runs the engine, writes a frame. Reads and writes are synchronous, so that a
 * turn of the engine costs no turn of the event loop.
 *
 * Next: quickjs/inside-quickjs.ts (an engine that is driven by it).
 */
import { readSync, writeSync } from "node:fs";
import { isJsonObject, type JsonObject } from "@postern/core";
import { frameOf, headerBytes } from "./frames.ts";

type EngineAnswer = JsonObject | Promise<JsonObject>;

/** An engine answers the host's questions. If it throws, the process ends and the host reports `crash`. */
export interface InsideEngine {
  start(order: JsonObject): EngineAnswer;
  restore(order: JsonObject): EngineAnswer;
  next(order: JsonObject): EngineAnswer;
  freeze(order: JsonObject): EngineAnswer;
  /** Forgets its script. Only for engines whose scripts leave nothing behind. */
  rest(order: JsonObject): EngineAnswer;
}

const orders: ReadonlySet<string> = new Set<keyof InsideEngine>(["start", "restore", "next", "freeze", "rest"]);

/** Changes from root to the user `nobody`. */
export function dropRootUser(): void {
  if (process.getuid?.() !== 0) return;
  const nobodyId = 65_534;
  process.setgroups?.([]);
  process.setgid?.(nobodyId);
  process.setuid?.(nobodyId);
}

/** Opens the engine with the host's first message, serves the host, and ends when the host closes the pipe. */
export async function serveHost(open: (hello: JsonObject) => Promise<InsideEngine>): Promise<never> {
  const { token = null, ...hello } = readMessage();
  const engine = await open(hello);
  writeMessage({ ready: true, token });
  for (;;) {
    const order = readMessage();
    const name = String(order["do"]);
    if (!orders.has(name)) throw new TypeError(`The host sent an unknown message: \`${name}\`.`);
    const answer = await engine[name as keyof InsideEngine](order); // one of `orders`
    writeMessage({ ...answer, token: order["token"] ?? null });
  }
}

/** Ends the process when the host has closed the pipe. */
function readMessage(): JsonObject {
  const message: unknown = JSON.parse(readBytes(readBytes(headerBytes).readUInt32BE(0)).toString());
  if (!isJsonObject(message)) throw new TypeError("The host sent a message that is not a JSON object.");
  return message;
}

function readBytes(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const read = readSync(0, bytes, at, length - at, null);
    if (read === 0) process.exit(0);
    at += read;
  }
  return bytes;
}

function writeMessage(message: JsonObject): void {
  const frame = frameOf(JSON.stringify(message));
  for (let at = 0; at < frame.length; ) at += writeSync(1, frame, at);
}
