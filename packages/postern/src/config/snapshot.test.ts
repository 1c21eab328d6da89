import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ConfigFolder } from "../../../../test/fakes/config-folder.ts";
import { configSnapshot } from "./snapshot.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

const full = `autonomy: A1
console: { edit_policy: true }
files: { enabled: true, roots: { here: { path: ., writable: true } } }
chains: { cpu_ms: 5000, limits: { max_tool_calls: 7 } }
accounts:
  session: { idle_minutes: 30 }
  openid: { issuer: "https://id.example", client_id: postern, client_secret: "secret://openid/client" }
`;

describe("the effective configuration that is stored with each run", () => {
  it("says in the file's spelling what the pages may do, what files and scripts may, and who signs in", async () => {
    const kept: unknown = parse(configSnapshot(await configs.load(full)));
    expect(kept).toMatchObject({
      console: { edit_policy: true },
      files: { enabled: true, roots: { here: { writable: true } } },
      chains: { enabled: true, cpu_ms: 5000, limits: { max_tool_calls: 7 } },
      accounts: {
        session: { idle_minutes: 30, absolute_hours: 168 },
        openid: { issuer: "https://id.example", client_id: "postern", client_secret: "secret://openid/client" },
      },
    });
  });

  it("says the defaults, and is a configuration that means the same", async () => {
    const kept = configSnapshot(await configs.load("autonomy: A1\n"));
    expect(parse(kept)).toMatchObject({ console: { edit_policy: false }, chains: { enabled: true } });
    for (const text of [full, "autonomy: A1\n"]) {
      const once = configSnapshot(await configs.load(text));
      const again = configSnapshot(await configs.load(once));
      expect(parse(again)).toEqual(parse(once));
    }
  });

  it("shows an API without its credentials, and its document's path in full", async () => {
    const servers = `servers: { shop: { openapi: shop.yaml, base_url: "https://ann:pass-1@shop.example/v1?key=k-1", auth: { token: abc-secret, key: "secret://shop/key" } } }\n`;
    const kept = configSnapshot(await configs.load(servers));
    expect(kept).not.toMatch(/pass-1|k-1|abc-secret/);
    expect(parse(kept)).toMatchObject({
      servers: {
        shop: {
          openapi: expect.stringMatching(/^\/.*\/shop\.yaml$/),
          base_url: "https://shop.example/v1",
          auth: { key: "secret://shop/key" },
        },
      },
    });
  });
});
