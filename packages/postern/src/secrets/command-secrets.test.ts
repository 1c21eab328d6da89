import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "@postern/core/system";
import { afterAll, describe, expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { commandSecrets } from "./command-secrets.ts";
import { createRedactor } from "./redactor.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-command-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A password manager: a program of one line, given the names as arguments. */
function manager(source: string, names: readonly string[] = ["{connector}", "{key}"]): readonly string[] {
  return [process.execPath, "-e", source, "--", ...names];
}
const say = (text: string): readonly string[] => manager(`process.stdout.write(${text})`);

describe("a command that gives secrets", () => {
  it("is run with the names put into its arguments, and loses one line break", async () => {
    const secrets = commandSecrets({
      command: manager("console.log(process.argv.slice(1).join(' '))", ["op://x/{connector}/{key}", "-f={key}"]),
    });
    expect((await secrets.get("github", "api.token")).reveal()).toBe("op://x/github/api.token -f=api.token");
    expect((await commandSecrets({ command: say("'value-1\\r\\n\\n'") }).get("a", "b")).reveal()).toBe("value-1\r\n");
  });

  it("does not reach a shell", async () => {
    const secrets = commandSecrets({ command: manager("console.log(process.argv[1])", ["$(echo {key}); `id` | x"]) });
    expect((await secrets.get("a", "b")).reveal()).toBe("$(echo b); `id` | x");
  });

  it.each(["--help", "..", "a b", "a/b", "$(id)", "", "a\0b", "a\nb", "é"])("never sees the name %j", async (name) => {
    const file = join(folder, "ran");
    const secrets = commandSecrets({ command: manager(`require('fs').writeFileSync(${JSON.stringify(file)}, 'x')`) });
    for (const [connector, key] of [
      [name, "b"],
      ["a", name],
    ] as const)
      await expect(secrets.get(connector, key)).rejects.toMatchObject({
        code: "request_invalid",
        message: expect.stringContaining("of a secret is not a name"),
      });
    expect(() => readFileSync(file)).toThrow();
  });

  it("sees the environment without what is Postern's own", async () => {
    const environment = {
      PATH: process.env["PATH"],
      VAULT_ADDR: "https://vault",
      POSTERN_SECRETS_KEY: "very long and secret",
    };
    const secrets = commandSecrets({ command: say("JSON.stringify(process.env)"), environment });
    const seen = JSON.parse((await secrets.get("a", "b")).reveal());
    expect(seen).toMatchObject({ VAULT_ADDR: "https://vault" });
    expect(Object.keys(seen).filter((name) => name.startsWith("POSTERN_"))).toEqual([]);
  });

  it("reports that it failed, and nothing of its output", async () => {
    const leaky = manager("console.error('hunter2hunter2'); console.log('hunter2hunter2'); process.exit(3)");
    const failed = commandSecrets({ command: leaky }).get("github", "token");
    await expect(failed).rejects.toMatchObject({
      code: "secrets_command_failed",
      message: expect.stringMatching(/`github\/token` ended with 3\. Run it yourself/),
    });
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining("hunter2") });
    await expect(commandSecrets({ command: ["/no/such/program", "{key}"] }).get("a", "b")).rejects.toMatchObject({
      code: "secrets_command_failed",
      message: expect.stringContaining("could not be started"),
    });
  });

  it("is ended with its children when it takes too long", async () => {
    const pid = join(folder, "pid");
    const slow = `const { spawn } = require('child_process');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'ignore'] });
      require('fs').writeFileSync(${JSON.stringify(pid)}, String(child.pid)); setInterval(() => {}, 1000);`;
    const clock = new FakeClock();
    const asked = commandSecrets({ command: manager(slow), clock, timeoutMs: 5_000 }).get("a", "b");
    asked.catch(() => undefined);
    const child = await until(() => Number(readFileSync(pid, "utf8")) || undefined);
    await clock.advance(5_000);
    await expect(asked).rejects.toMatchObject({ message: expect.stringContaining("gave nothing within 5000 ms") });
    await until(() => (isAlive(child) ? undefined : true));
  });

  it("is ended when it gives too much", async () => {
    const endless = commandSecrets({
      command: manager("setInterval(() => process.stdout.write('x'.repeat(65536)), 0)"),
    });
    await expect(endless.get("a", "b")).rejects.toMatchObject({
      code: "secrets_command_failed",
      message: expect.stringContaining("more than 65536 bytes"),
    });
  });

  it.each([
    ["nothing", "''", "at least 6 characters"],
    ["a line break", "'\\n'", "at least 6 characters"],
    ["five characters", "'hunt2'", "at least 6 characters"],
    ["a NUL", "'hunter\\0two'", "holds a NUL character"],
    ["what is no text", "Buffer.from([0xff, 0xfe, 1, 2, 3, 4, 5])", "is not UTF-8 text"],
  ])("refuses %s as a value", async (_, said, why) => {
    await expect(commandSecrets({ command: say(said) }).get("a", "b")).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining(why),
    });
  });

  it("makes a value known before anybody has it", async () => {
    const redactor = createRedactor();
    await commandSecrets({ command: say("'hunter2hunter2'"), redactor }).get("a", "b");
    expect(redactor.redact("was hunter2hunter2")).toBe("was [redacted]");
  });

  it.each([[[]], [["op"]], [["op", "read"]], [["{key}", "x {key}"]], [["", "{key}"]]])(
    "%j is no command",
    (command) => {
      expect(() => commandSecrets({ command })).toThrow(
        expect.objectContaining({
          code: "options_invalid",
          message: expect.stringContaining("is not a command for secrets"),
        }),
      );
    },
  );
});

async function until<T>(found: () => T | undefined): Promise<T> {
  for (;;) {
    try {
      const value = found();
      if (value !== undefined) return value;
    } catch {
      // not there yet
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
