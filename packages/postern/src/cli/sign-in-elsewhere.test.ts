import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { AuthorizationServer } from "../../../../test/fakes/authorization-server.ts";
import { PosternProcess } from "../../../../test/fakes/postern-process.ts";

/** Runs `postern start` with this `oauth` section until `then` is done. Returns what it wrote. */
async function started(oauth: string, then: (url: string) => Promise<void>): Promise<string> {
  using postern = new PosternProcess();
  appendFileSync(join(postern.folder, "postern.yaml"), `oauth: ${oauth}\n`);
  const { child, end } = postern.open(["start", "--json"]);
  const { stdout } = child;
  if (stdout === null) throw new Error("its output is a pipe");
  for await (const line of createInterface({ input: stdout })) {
    const { url }: { readonly url: string } = JSON.parse(line);
    await then(url);
    break;
  }
  child.kill("SIGTERM");
  const { err } = await end;
  return err;
}

describe("postern start with `oauth`", () => {
  it("takes the tokens of the authorization server that the configuration names", async () => {
    await using server = await AuthorizationServer.start({
      audience: "postern-api",
      users: { ada: { groups: ["a"] } },
    });
    const oauth = `{ issuer: "${server.issuer}", audience: postern-api, required_scopes: [mcp], claims: { groups: groups } }`;
    const written = await started(oauth, async (url) => {
      const { client } = await server.signIn(new URL("/mcp", url), "ada");
      const { tools } = await client.listTools();
      expect(tools.length).toBeGreaterThan(0);
      await client.close();
    });
    expect(written).not.toContain("oauth.issuer");
  });

  it("does not start with an issuer that is no address, and says which place and what to write", async () => {
    using postern = new PosternProcess();
    appendFileSync(join(postern.folder, "postern.yaml"), "oauth: { issuer: http://login.example, audience: a }\n");
    const { code, err } = await postern.run("start");
    expect(code).not.toBe(0);
    expect(err).toMatch(/postern\.yaml:\d+.*oauth\.issuer.*https/s);
  });
});
