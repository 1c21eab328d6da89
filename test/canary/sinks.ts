import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Needles } from "../../packages/postern/src/secrets/needles.ts";
import { canaries, traces, withoutBreaks } from "./canaries.ts";

export interface SinkReport {
  readonly sink: string;
  readonly bytes: number;
  /** The canaries found in it, in any encoding. */
  readonly hits: number;
}

/** Collects the content of each sink and searches it for canaries. */
export class Sinks {
  readonly #texts = new Map<string, string[]>();

  add(sink: string, ...values: readonly unknown[]): void {
    const texts = this.#texts.get(sink) ?? [];
    for (const value of values) texts.push(typeof value === "string" ? value : textOf(value));
    this.#texts.set(sink, texts);
  }

  /** Adds the bytes of every file of a folder. */
  addFiles(folder: string, sinkOf: (path: string) => string): void {
    for (const path of globSync("**/*", { cwd: folder })) {
      const whole = join(folder, path);
      if (statSync(whole).isFile())
        this.add(sinkOf(path), readFileSync(whole).toString("latin1"), readFileSync(whole, "utf8"));
    }
  }

  count(text: string): number {
    return [...this.#texts.values()].flat().reduce((sum, one) => sum + one.split(text).length - 1, 0);
  }

  report(count: number): readonly SinkReport[] {
    const names = new Map<string, number>();
    for (const [i, value] of canaries(count).entries()) for (const trace of traces(value)) names.set(trace, i);
    for (const [trace, i] of [...names]) names.set(Buffer.from(trace).toString("latin1"), i);
    const needles = new Needles([...names.keys()]);
    return [...this.#texts].map(([sink, texts]) => {
      const text = texts.join("\n\0\n");
      const found = [text, withoutBreaks(text)].flatMap((form) =>
        needles.spans(form).map(({ start, end }) => names.get(form.slice(start, end)) ?? form.slice(start, end)),
      );
      return { sink, bytes: text.length, hits: new Set(found).size };
    });
  }

  /** Returns the surroundings of the first hits, for the failure message. */
  examples(count: number, sink: string): readonly string[] {
    const needles = new Needles(canaries(count).flatMap(traces));
    const text = withoutBreaks((this.#texts.get(sink) ?? []).join("\n\0\n"));
    return needles
      .spans(text)
      .slice(0, 5)
      .map(({ start, end }) => text.slice(Math.max(0, start - 200), end + 60));
  }
}

/** Collects every text in an object graph and visits each object once. */
function textOf(value: unknown): string {
  const seen = new Set<unknown>();
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === "bigint") return String(inner);
    if (typeof inner !== "object" || inner === null) return inner;
    if (seen.has(inner)) return undefined;
    seen.add(inner);
    if (inner instanceof Error) return { name: inner.name, message: inner.message, stack: inner.stack };
    return inner instanceof Map || inner instanceof Set ? [...inner] : inner;
  });
  return text ?? "";
}
