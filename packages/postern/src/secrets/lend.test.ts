import { format, inspect } from "node:util";
import { serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { environmentSecrets, secretVariable } from "./backend.ts";
import { hiddenSecret, lend } from "./lend.ts";
import { createRedactor } from "./redactor.ts";
import { referencesIn, withSecrets } from "./secret-reference.ts";
import type { SecretStore } from "./secret-store.ts";

const value = "ghp_0123456789abcdef";
const environment = {
  POSTERN_SECRET_GITHUB_TOKEN: value,
  POSTERN_SECRET_GITHUB_PIN: "1234",
  OTHER: "not-a-secret-of-ours",
};

/** A back end that knows nothing of redaction. */
const foreign: SecretStore = { get: async () => hiddenSecret(() => value) };

describe("a secret", () => {
  it("shows nothing of itself as text, as JSON or in a debugger", async () => {
    const secret = await lend(foreign, createRedactor()).get("github", "token");
    const shown = [
      `${String(secret)}`,
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 9, showHidden: true }),
      inspect(secret, { customInspect: false }),
    ];
    expect(shown.slice(0, 3)).toEqual(["[secret]", '{"secret":"[secret]"}', "{ secret: [secret] }"]);
    expect(shown.join()).not.toContain(value);
    expect({ ...secret }).not.toHaveProperty("value");
    expect(secret.reveal()).toBe(value);
  });

  it("cannot be cloned, serialized, sent elsewhere or changed, and its copy shows no more", async () => {
    const secret = await lend(foreign, createRedactor()).get("github", "token");
    expect(() => structuredClone(secret)).toThrow();
    expect(() => serialize({ secret })).toThrow();
    expect(() => Object.assign(secret, { reveal: () => "another" })).toThrow();
    expect(format("%s %o %j %O", secret, secret, secret, { ...secret })).not.toContain(value);
    expect(JSON.stringify(Object.entries(secret))).not.toContain(value);
    expect(String(new Error(`${secret}`, { cause: secret }).stack)).not.toContain(value);
  });
});

describe("a loan", () => {
  it("lends the value to a tool while it runs, and everything written afterwards is clean of it (case 260)", async () => {
    const redactor = createRedactor();
    const secret = await lend(foreign, redactor).get("github", "token");
    expect(redactor.redact(`failed with ${secret.reveal()}`)).toBe("failed with [redacted]");
  });

  it("gives nothing after its end, and what it gave shows nothing any more", async () => {
    const loan = lend(foreign, createRedactor());
    const secret = await loan.get("github", "token");
    loan.end();
    loan.end();
    expect(() => secret.reveal()).toThrow(
      expect.objectContaining({ code: "internal", message: expect.stringContaining("This call has ended") }),
    );
    await expect(loan.get("github", "token")).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("This call has ended"),
    });
  });

  it("asks its store once for each name, and again when that failed", async () => {
    let asked = 0;
    const failing: SecretStore = {
      get: async () => {
        asked += 1;
        if (asked === 1) throw new Error("the vault is closed");
        return hiddenSecret(() => value);
      },
    };
    const loan = lend(failing, createRedactor());
    await expect(loan.get("github", "token")).rejects.toThrow("the vault is closed");
    const lent = await Promise.all([1, 2, 3].map(() => loan.get("github", "token")));
    expect(lent.map((secret) => secret.reveal())).toEqual([value, value, value]);
    expect(asked).toBe(2);
  });

  it("rejects a request that was under way when it ended", async () => {
    const loan = lend(foreign, createRedactor());
    const asked = loan.get("github", "token");
    loan.end();
    await expect(asked).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("This call has ended"),
    });
  });

  it("offers no way to list or dump (case 262)", () => {
    const loan = lend(environmentSecrets({ environment, redactor: createRedactor() }), createRedactor());
    expect(Object.keys(loan).sort()).toEqual(["end", "get"]);
    expect(Object.keys(environmentSecrets({ environment, redactor: createRedactor() }))).toEqual(["get"]);
    expect(inspect(loan, { depth: 9, showHidden: true })).not.toContain(value);
  });

  it("does not lend what could not be masked, and names it without showing it", async () => {
    const short: SecretStore = { get: async () => hiddenSecret(() => "1234") };
    const refused = lend(short, createRedactor()).get("github", "pin");
    await expect(refused).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/github\/pin.*at least 6 characters/),
    });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("1234") });
  });
});

describe("secrets in the environment", () => {
  it("reads connector and key from one variable", async () => {
    const secrets = environmentSecrets({ environment, redactor: createRedactor() });
    expect((await secrets.get("github", "token")).reveal()).toBe(value);
    expect(secretVariable("github-app", "api.token")).toBe("POSTERN_SECRET_GITHUB_APP_API_TOKEN");
  });

  it("says which variable to set when there is none, also for names of built-in properties", async () => {
    const secrets = environmentSecrets({
      environment: { ...environment, POSTERN_SECRET_A_B: "" },
      redactor: createRedactor(),
    });
    for (const [connector, key] of [
      ["gitlab", "token"],
      ["a", "b"],
      ["constructor", "name"],
    ] as const) {
      await expect(secrets.get(connector, key)).rejects.toMatchObject({
        code: "secret_missing",
        message: expect.stringContaining(secretVariable(connector, key)),
      });
    }
  });

  it("makes its values known before anybody borrowed one, and only its own", () => {
    const redactor = createRedactor();
    environmentSecrets({ environment, redactor });
    expect(redactor.finds(`pasted ${value}`)).toBe(true);
    expect(redactor.finds("not-a-secret-of-ours")).toBe(false);
  });

  it("refuses a value too short to be masked and names it", async () => {
    const secrets = environmentSecrets({ environment, redactor: createRedactor() });
    await expect(secrets.get("github", "pin")).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/github\/pin.*at least 6 characters/),
    });
  });
});

describe("references", () => {
  it("reads connector and key, and leaves other text alone", async () => {
    expect(referencesIn("secret://github/token")).toEqual([{ connector: "github", key: "token" }]);
    expect(referencesIn("https://github.com")).toEqual([]);
    expect(await withSecrets("https://github.com", async () => "never")).toBe("https://github.com");
  });

  it("finds them inside a text, and puts values in as they are", async () => {
    const text = 'Bearer secret://github/token, "postgres://me:secret://db/pass.word@host/x"';
    const given = await withSecrets(text, async (connector, key) => `<$& secret://${connector} ${key}>`);
    expect(given).toBe('Bearer <$& secret://github token>, "postgres://me:<$& secret://db pass.word>@host/x"');
  });

  it.each([
    ...[
      "secret://",
      "secret://github",
      "secret://github/",
      "secret://git hub/token",
      "secret://a/b/c",
      "secret://a/bö",
    ],
    ...["secret://../token", "secret://-x/token", "x secret://a/b and secret://a", `secret://a/${"b".repeat(129)}`],
  ])("refuses %s without repeating what may be a value", (text) => {
    expect(() => referencesIn(text)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringMatching(/^(?!.*(?:github|git hub|a\/b|bbb)).*names no secret/),
      }),
    );
  });
});
