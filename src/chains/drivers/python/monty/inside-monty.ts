/**
 * Monty in its own process. It is driven step by step from here: it has no function of ours, it stops at every call.
 *
 * Why not in the host: ordinary hostile input ends its process (deeply nested lists, long sums, one flipped byte of an image).
 */

import type { JsonObject } from "../../../../calls/json.ts";
import { becomeNobody, type InsideEngine, serveHost } from "../../child/inside.ts";
import { checkerRole, rehearsedText } from "../checking/monty-rehearsal.ts";
import { toolNames } from "../tool-names.ts";
import { rewriteForMonty } from "./monty-rewrite.ts";
import { MontyScript } from "./monty-script.ts";

becomeNobody();
const { Monty } = await import("@pydantic/monty");

class Engine implements InsideEngine {
  #script: MontyScript | undefined;

  start(order: JsonObject): JsonObject {
    this.#script = MontyScript.start(order);
    return { started: true };
  }

  restore(order: JsonObject): JsonObject {
    this.#script = MontyScript.restore(order);
    return { restored: true, places: this.#script.places, open: this.#script.open };
  }

  next(order: JsonObject): JsonObject {
    if (this.#script === undefined) throw new TypeError("There is no script.");
    return this.#script.next(JSON.parse(String(order["results"])) as readonly JsonObject[]); // the host's own
  }

  freeze(): JsonObject {
    if (this.#script === undefined) throw new TypeError("There is no script.");
    return { image: this.#script.freeze() };
  }

  rehearse(): JsonObject {
    const script = MontyScript.start({ ...rehearsed(), outputBytes: 1_000, memoryBytes: 16 << 20, wallMs: 10_000 });
    const value = { text: "ok", structured: null, ref: null, files: [], status: "ok" };
    for (let step = script.next([]); step["step"] === "calls"; )
      step = script.next(script.open.map((place) => ({ place, status: "ok", value })));
    globalThis.gc?.({ type: "minor" }); // else it comes in the middle of the script
    return { rehearsed: true };
  }
}

/** Reads scripts and runs none. */
class Checker implements InsideEngine {
  start({ source, original, stubs }: JsonObject): JsonObject {
    return { checked: true, problems: problemsOf(`${stubs}${original}\n`), ...parsed(String(source)) };
  }

  restore(): never {
    throw new TypeError("A checker runs no script.");
  }

  next(): never {
    return this.restore();
  }

  freeze(): never {
    return this.restore();
  }

  rehearse(): JsonObject {
    return { rehearsed: true, problems: problemsOf(rehearsedText()), ...parsed(rehearsal) };
  }

  /** Monty has dropped the file by now; of what it was made of, types of the library are left. */
  rest(): JsonObject {
    return { rested: true };
  }
}

function problemsOf(text: string): string {
  try {
    new Monty("pass").typeCheck(text);
    return "";
  } catch (error) {
    return isTyping(error) ? error.displayDiagnostics("concise") : "";
  }
}

/** Whether Monty can parse it. */
function parsed(source: string): JsonObject {
  try {
    new Monty(source, { scriptName: "script.py" });
    return {};
  } catch (error) {
    return { unparsed: error instanceof Error ? error.message : String(error) };
  }
}

function isTyping(error: unknown): error is { displayDiagnostics(format: "concise"): string } {
  return typeof error === "object" && error !== null && "displayDiagnostics" in error;
}

const rehearsal = "for n in range(25):\n    r = tools.echo(text=str(n), n=n)\nprint(r.text, {'n': n})\n";
const echo = { name: "echo", server: undefined, short: "echo", description: "" };
const tools = [{ ...echo, inputSchema: { properties: { text: {}, n: {} } } }];

/** As a script's order has them: what is rehearsed is what will be run. */
function rehearsed(): JsonObject {
  const own = rewriteForMonty(rehearsal, toolNames(tools));
  return { source: "source" in own ? own.source : rehearsal, tools: JSON.stringify(tools) };
}

await serveHost(process.argv[2] === checkerRole ? new Checker() : new Engine());
