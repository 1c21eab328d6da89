/**
 * Monty in its own process. It is driven step by step from here: it has no function of ours, it stops at every call.
 *
 * Why not in the host: ordinary hostile input ends its process (deeply nested lists, long sums, one flipped byte of an image).
 */

import { isJsonObject, type Json, type JsonObject } from "../../../calls/json.ts";
import { becomeNobody, type InsideEngine, serveHost } from "../child/inside.ts";
import { MontyScript } from "./monty-script.ts";

becomeNobody();
const { Monty } = await import("@pydantic/monty");

class Engine implements InsideEngine {
  #script: MontyScript | undefined;

  start(order: JsonObject): JsonObject {
    if (order["check"] === true)
      return checked(String(order["source"]), String(order["stubs"]), String(order["original"]));
    this.#script = MontyScript.start(order);
    return { started: true };
  }

  restore(order: JsonObject): JsonObject {
    this.#script = MontyScript.restore(order);
    return { restored: true, places: this.#script.places, open: this.#script.open };
  }

  next(order: JsonObject): JsonObject {
    const { results } = order;
    if (this.#script === undefined) throw new TypeError("There is no script.");
    return this.#script.next(Array.isArray(results) ? results.filter((result: Json) => isJsonObject(result)) : []);
  }

  freeze(): JsonObject {
    if (this.#script === undefined) throw new TypeError("There is no script.");
    return { image: this.#script.freeze() };
  }

  rehearse(): JsonObject {
    checked(rehearsal, "", "import json, re, math, datetime, asyncio, typing\n");
    const tools = [{ name: "echo", short: "echo", inputSchema: { properties: { n: {} } } }];
    const script = MontyScript.start({
      source: rehearsal,
      tools,
      outputBytes: 1_000,
      memoryBytes: 16 << 20,
      wallMs: 10_000,
    });
    for (let step = script.next([]); step["step"] === "calls"; )
      step = script.next(script.open.map((place) => ({ place, status: "ok", value: { text: "ok", status: "ok" } })));
    return { rehearsed: true };
  }
}

/** What the type checker says of the script behind its stubs, and whether Monty can parse it. */
function checked(source: string, stubs: string, original: string): JsonObject {
  let problems = "";
  try {
    new Monty("pass").typeCheck(`${stubs}${original}\n`);
  } catch (error) {
    problems = isTyping(error) ? error.displayDiagnostics("concise") : "";
  }
  try {
    new Monty(source, { scriptName: "script.py" });
    return { checked: true, problems };
  } catch (error) {
    return { checked: true, problems, unparsed: error instanceof Error ? error.message : String(error) };
  }
}

function isTyping(error: unknown): error is { displayDiagnostics(format: "concise"): string } {
  return typeof error === "object" && error !== null && "displayDiagnostics" in error;
}

const rehearsal = "for n in range(200):\n    r = tools.echo(n=n)\nprint(r.text, {'n': n})\n";

await serveHost(new Engine());
