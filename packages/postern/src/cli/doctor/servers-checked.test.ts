import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CommandLine } from "../../../../../test/fakes/command-line.ts";

let cli: CommandLine;
beforeAll(() => {
  cli = new CommandLine();
});
afterAll(() => cli[Symbol.dispose]());

interface Finding {
  readonly level: string;
  readonly check: string;
  readonly message: string;
  readonly fix?: string;
}

const program = resolve("test/fakes/large-server.ts");
const file = `servers:
  large: { command: ${process.execPath}, args: [${JSON.stringify(program)}] }
  gone: { url: "http://127.0.0.1:1/mcp" }
  poor: { command: ${process.execPath}, args: [-e, "0"], env: { TOKEN: "secret://poor/token" } }
  unset: { command: ${process.execPath}, args: [-e, "0"], env: { TOKEN: "\${POSTERN_TEST_UNSET}" } }
  dead: { command: ${process.execPath}, args: [-e, "process.exit(3)"] }
`;

it("doctor names each tool that is not offered, and says of each server what its own trouble asks for", async () => {
  const path = join(cli.folder, "servers.yaml");
  writeFileSync(path, file);
  const { out } = await cli.run("doctor", "--json", "--config", path);
  const { findings }: { findings: readonly Finding[] } = JSON.parse(out);
  const of = (server: string) => findings.filter(({ check }) => check === `server ${server}`);
  expect(of("large")[0]).toMatchObject({ level: "ok", message: "connected" });
  expect(of("large")[1]).toEqual({
    level: "warn",
    check: "server large",
    message: "`large__listing` is not offered. Its `inputSchema` does not say `type: object`.",
    fix: "Correct its definition in the server, or its settings in `servers.large.tools`.",
  });
  expect(of("large")).toHaveLength(7);
  expect(of("gone")).toMatchObject([{ level: "warn", fix: expect.stringContaining("`servers.gone.url`") }]);
  expect(of("poor")).toMatchObject([
    { message: expect.stringContaining("There is no secret `poor/token`"), fix: expect.stringMatching(/^Set it/) },
  ]);
  expect(of("unset")).toMatchObject([
    { message: expect.stringContaining("set it there"), fix: "Then start Postern again." },
  ]);
  expect(of("dead")).toMatchObject([{ fix: expect.stringMatching(/^Run its command by hand; see `servers.dead`/) }]);
});

it("`postern tools` says what a server lists and cannot be offered", async () => {
  const path = join(cli.folder, "servers.yaml");
  writeFileSync(path, file);
  const { out } = await cli.run("tools", "--config", path);
  expect(out).toContain("large__waiting");
  expect(out).toContain("Not offered, as they are defined:");
  expect(out).toContain("  large__listing: Its `inputSchema` does not say `type: object`.");
});
