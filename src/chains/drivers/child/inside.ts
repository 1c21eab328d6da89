/**
 * The other end of the pipe, in the child: reads a frame, lets the engine work, writes a frame. Nothing here is
 * asynchronous, so that an engine's turn costs two system calls and no turn of an event loop.
 *
 * Next: javascript/inside-quickjs.ts (an engine that is driven by it).
 */
import { readSync, writeSync } from "node:fs";
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";

/** What an engine answers to the host's questions. It may throw: that ends the process, and the host says `crash`. */
export interface InsideEngine {
  start(order: JsonObject): JsonObject | Promise<JsonObject>;
  restore(order: JsonObject): JsonObject | Promise<JsonObject>;
  next(order: JsonObject): JsonObject;
  freeze(): JsonObject;
  /** Does once what a script will make it do. */
  rehearse?(): JsonObject | Promise<JsonObject>;
}

/** Gives up root, if it has it: from here on the process is nobody's. */
export function becomeNobody(): void {
  if (process.getuid?.() !== 0) return;
  const nobody = 65_534;
  process.setgroups?.([]);
  process.setgid?.(nobody);
  process.setuid?.(nobody);
}

/** Serves one script, and ends when the host closes the pipe. */
export async function serveHost(engine: InsideEngine): Promise<never> {
  for (;;) {
    const order = readMessage();
    if (order === undefined) process.exit(0);
    const { token } = order;
    writeMessage({ ...(await answer(engine, order)), token: token ?? null });
  }
}

function answer(engine: InsideEngine, order: JsonObject): JsonObject | Promise<JsonObject> {
  switch (order["do"]) {
    case "ready":
      return { ready: true };
    case "rehearse":
      return engine.rehearse?.() ?? {};
    case "start":
      return engine.start(order);
    case "restore":
      return engine.restore(order);
    case "next":
      return engine.next(order);
    case "freeze":
      return engine.freeze();
    default:
      throw new TypeError("The host asked for nothing known.");
  }
}

function readMessage(): JsonObject | undefined {
  const header = readExactly(4);
  if (header === undefined) return undefined;
  const body = readExactly(header.readUInt32BE(0));
  if (body === undefined) return undefined;
  const parsed: unknown = JSON.parse(body.toString("utf8"));
  return isJsonObject(parsed) ? parsed : undefined;
}

function readExactly(length: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(length);
  for (let have = 0; have < length; ) {
    const read = readSync(0, bytes, have, length - have, null);
    if (read === 0) return undefined; // the host is gone
    have += read;
  }
  return bytes;
}

function writeMessage(message: JsonObject): void {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.allocUnsafe(4);
  header.writeUInt32BE(body.length, 0);
  const frame = Buffer.concat([header, body]);
  for (let written = 0; written < frame.length; ) written += writeSync(1, frame, written);
}
