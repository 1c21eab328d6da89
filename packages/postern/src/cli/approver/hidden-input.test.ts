import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { UsageProblem } from "../usage-problem.ts";
import { type HiddenInput, readHidden } from "./hidden-input.ts";

interface FakeTerminal {
  readonly input: HiddenInput;
  readonly raw: boolean[];
  type(text: string): void;
}

function terminal(): FakeTerminal {
  const raw: boolean[] = [];
  const stream = new PassThrough();
  const input = Object.assign(stream, { isTTY: true, setRawMode: (on: boolean) => raw.push(on) });
  return { input, raw, type: (text) => void stream.write(text) };
}

async function typed(...texts: readonly string[]): Promise<string> {
  const fake = terminal();
  const reading = readHidden(fake.input, 1_000, () => {
    for (const text of texts) fake.type(text);
  });
  return Buffer.from(await reading).toString();
}

describe("a value typed at a terminal", () => {
  it("is one line, without echo while it is typed", async () => {
    const fake = terminal();
    const bytes = await readHidden(fake.input, 1_000, () => fake.type("hunter2hunter2\rand what comes later"));
    expect(Buffer.from(bytes).toString()).toBe("hunter2hunter2");
    expect(fake.raw).toEqual([true, false]);
  });

  it("may come in pieces, be corrected, and hold any character", async () => {
    expect(await typed("hun", "ter2", "é", "\x7f", "x\b", "ü€\r")).toBe("hunter2ü€");
    expect(await typed("\x7f\x7fabc\x04")).toBe("abc");
  });

  it("ends with Ctrl-C, and the terminal is as before", async () => {
    const fake = terminal();
    const reading = readHidden(fake.input, 1_000, () => fake.type("hunt\x03"));
    await expect(reading).rejects.toBeInstanceOf(UsageProblem);
    expect(fake.raw).toEqual([true, false]);
  });
});

describe("a value from a pipe", () => {
  it("is everything that comes, without a prompt", async () => {
    const pipe = new PassThrough();
    pipe.write("two\n");
    pipe.end("lines\n");
    const bytes = await readHidden(pipe, 1_000, () => expect.unreachable());
    expect(Buffer.from(bytes).toString()).toBe("two\nlines\n");
  });

  it("is not read for ever", async () => {
    const pipe = new PassThrough();
    pipe.write("x".repeat(5_000));
    expect((await readHidden(pipe, 1_000, () => undefined)).length).toBe(5_000);
  });
});
