import { expect, it, onTestFinished } from "vitest";
import { createRuntime, type ServerConfig } from "../../index.ts";
import { addressOf } from "./server-address.ts";

const learn = (): void => undefined;

function withVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
}

const noSecrets = (): Promise<string> => Promise.reject(new Error("none"));
const variable = (name: string): string => `\${${name}}`;

it("a variable of the environment is put in wherever a server is configured", async () => {
  withVariables({ POSTERN_T_TOKEN: "t0ken", POSTERN_T_HOST: "example.com", POSTERN_T_EMPTY: "" });
  const token = variable("POSTERN_T_TOKEN");
  const remote = { url: `https://${variable("POSTERN_T_HOST")}/mcp`, headers: { authorization: `Bearer ${token}` } };
  expect(await addressOf("one", remote, { resolve: noSecrets, learn })).toEqual({
    kind: "http",
    url: new URL("https://example.com/mcp"),
    headers: { authorization: "Bearer t0ken" },
  });
  const env = {
    BOTH: `${token}/${token}`,
    USUAL: variable("POSTERN_T_NONE:-fallback"),
    EMPTY: variable("POSTERN_T_EMPTY:-fallback"),
    KEPT: variable("POSTERN_T_EMPTY"),
    PLAIN: "$HOME costs $5 {x}",
  };
  const local = { command: `/bin/${variable("POSTERN_T_NONE:-sh")}`, args: [token], env };
  expect(await addressOf("one", local, { resolve: noSecrets, learn })).toEqual({
    kind: "stdio",
    command: "/bin/sh",
    args: ["t0ken"],
    env: { BOTH: "t0ken/t0ken", USUAL: "fallback", EMPTY: "fallback", KEPT: "", PLAIN: "$HOME costs $5 {x}" },
  });
});

it("what a variable or a secret holds is not looked through", async () => {
  withVariables({ POSTERN_T_TOKEN: variable("HOME") });
  const server = { command: "sh", env: { A: variable("POSTERN_T_TOKEN"), B: "secret://one/two" } };
  expect(await addressOf("one", server, { resolve: async () => variable("HOME"), learn })).toMatchObject({
    env: { A: variable("HOME"), B: variable("HOME") },
  });
});

const wrong: readonly (readonly [string, ServerConfig, string])[] = [
  [
    "a variable that is not set",
    { command: "sh", env: { TOKEN: variable("POSTERN_T_NONE") } },
    "`servers.one.env.TOKEN` needs the environment variable `POSTERN_T_NONE`, which is not set where Postern runs",
  ],
  [
    "one that is not set in a header",
    { url: "https://example.com", headers: { authorization: `Bearer ${variable("POSTERN_T_NONE")}` } },
    "`servers.one.headers.authorization` needs the environment variable `POSTERN_T_NONE`",
  ],
  [
    "another product's form",
    { command: "sh", env: { TOKEN: variable("env:TOKEN") } },
    `\`servers.one.env.TOKEN\` has \`${variable("env:TOKEN")}\`, which names no environment variable: write`,
  ],
];

it.each(wrong)(
  "%s is refused with the place and what to do, and nothing is started",
  async (_what, server, message) => {
    const runtime = await createRuntime({ servers: { one: server } });
    onTestFinished(() => runtime.close(0));
    expect(runtime.health().servers[0]?.problem).toContain(message);
  },
);
