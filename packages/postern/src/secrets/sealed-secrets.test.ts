import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from "age-encryption";
import fc from "fast-check";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createRedactor } from "./redactor.ts";
import { changeSealed, openSealed, type SealedPlace } from "./sealed-file.ts";
import { sealedSecrets } from "./sealed-secrets.ts";

const root = mkdtempSync(join(tmpdir(), "postern-sealed-"));
afterAll(() => rmSync(root, { recursive: true }));

const passphrase = "correct horse battery staple";
let place: SealedPlace;
let folders = 0;

beforeEach(() => {
  folders += 1;
  const folder = join(root, String(folders));
  place = { file: join(folder, "secrets.age"), keyFile: join(folder, "secrets.key"), environment: {} };
});

function set(name: string, value: string, at: SealedPlace = place): Promise<void> {
  return changeSealed(at, (entries) => new Map(entries).set(name, value));
}

async function revealed(name: string, at: SealedPlace = place): Promise<string> {
  const [connector = "", key = ""] = name.split("/");
  return (await (await sealedSecrets(at)).get(connector, key)).reveal();
}

describe("the sealed file", () => {
  it("keeps what was set, makes its key on first use, and both are for their owner alone", async () => {
    await set("github/token", "ghp_0123456789");
    await set("mail/password", "correct-horse");
    expect(await revealed("github/token")).toBe("ghp_0123456789");
    expect(await revealed("mail/password")).toBe("correct-horse");
    const bytes = readFileSync(place.file);
    for (const word of ["ghp_0123456789", "github", "mail"]) expect(bytes.includes(word)).toBe(false);
    const { statSync } = await import("node:fs");
    for (const path of [place.file, place.keyFile]) expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is a file of age's format: age's own reader opens it with the key file's identity", async () => {
    await set("github/token", "ghp_0123456789");
    const [identity = ""] = readFileSync(place.keyFile, "utf8").match(/^AGE-SECRET-KEY-1\S+$/m) ?? [];
    const opener = new Decrypter();
    opener.addIdentity(identity);
    const text = await opener.decrypt(new Uint8Array(readFileSync(place.file)), "text");
    expect(JSON.parse(text)).toEqual({ version: 1, secrets: [["github/token", "ghp_0123456789"]] });
  });

  it("takes an identity from the environment before the key file, and writes no key then", async () => {
    const given = { ...place, environment: { POSTERN_SECRETS_KEY: `${await generateX25519Identity()}\n` } };
    await set("a/b", "a-secret-value", given);
    expect(await revealed("a/b", given)).toBe("a-secret-value");
    expect(existsSync(place.keyFile)).toBe(false);
  });

  it("opens what age sealed with a passphrase, and age opens what it seals with one", async () => {
    const given = { ...place, environment: { POSTERN_SECRETS_KEY: passphrase } };
    await set("a/b", "a-secret-value", given);
    const opener = new Decrypter();
    opener.addPassphrase(passphrase);
    const text = await opener.decrypt(new Uint8Array(readFileSync(place.file)), "text");
    expect(text).toContain("a-secret-value");
    const sealer = new Encrypter();
    sealer.setPassphrase(passphrase);
    sealer.setScryptWorkFactor(12);
    writeFileSync(place.file, await sealer.encrypt(text.replace("a-secret-value", "another-value")));
    expect(await revealed("a/b", given)).toBe("another-value");
    const wrong = { ...place, environment: { POSTERN_SECRETS_KEY: "correct horse battery stable" } };
    await expect(openSealed(wrong)).rejects.toMatchObject({
      code: "secrets_key_invalid",
      message: expect.stringContaining("was not sealed with the key"),
    });
  });

  it("keeps every name and value as they are", async () => {
    const names = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,20}$/);
    const special = fc.constantFrom("constructor", "__proto__", "hasOwnProperty", "a.b-c_d");
    const entry = fc.tuple(
      fc.oneof(names, special),
      fc.oneof(names, special),
      fc.string({ unit: "grapheme", minLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 5 }), async (entries) => {
        const wanted = new Map(entries.map(([connector, key, value]) => [`${connector}/${key}`, value.toWellFormed()]));
        await changeSealed(place, () => wanted);
        expect(new Map((await openSealed(place))?.entries)).toEqual(wanted);
      }),
      { numRuns: 30 },
    );
  });

  it("loses none of many that are set at once", async () => {
    const names = Array.from({ length: 12 }, (_, i) => `tool-${i}/token`);
    await Promise.all(names.map((name) => set(name, `value-of-${name}`)));
    expect([...((await openSealed(place))?.entries.keys() ?? [])].sort()).toEqual(names.sort());
  });
});

describe("a sealed file that cannot be opened", () => {
  const faults: readonly (readonly [what: string, why: string, spoil: () => Promise<void> | void])[] = [
    ["its key is gone", "its key is not there", () => rmSync(place.keyFile)],
    [
      "its key is another one",
      "was not sealed with the key",
      async () => writeFileSync(place.keyFile, await generateX25519Identity()),
    ],
    ["its key can be read by others", "can be used by others", () => chmodSync(place.keyFile, 0o640)],
    ["its key file is no key", "does not hold exactly one", () => writeFileSync(place.keyFile, "hello\n")],
    [
      "its key file holds two",
      "does not hold exactly one",
      () => writeFileSync(place.keyFile, readFileSync(place.keyFile, "utf8").repeat(2)),
    ],
    [
      "its key has a letter changed",
      "is not an age identity",
      () => writeFileSync(place.keyFile, readFileSync(place.keyFile, "utf8").replace(/.\n$/, "1\n")),
    ],
    [
      "it was cut in its header",
      "it was cut short or changed",
      () => writeFileSync(place.file, readFileSync(place.file).subarray(0, 100)),
    ],
    [
      "it was cut in its text",
      "it was cut short or changed",
      () => writeFileSync(place.file, readFileSync(place.file).subarray(0, -9)),
    ],
    ["it is empty", "it was cut short or changed", () => writeFileSync(place.file, "")],
    [
      "it is something else",
      "it was cut short or changed",
      () => writeFileSync(place.file, "github/token: ghp_0123\n"),
    ],
  ];

  it.each(faults)("says so when %s (%s), is not written over, and a set leaves it as it was", async (_, why, spoil) => {
    await set("github/token", "ghp_0123456789");
    await spoil();
    const before = readFileSync(place.file);
    const code = why.startsWith("it was cut") ? "config_invalid" : "secrets_key_invalid";
    const failure = { code, message: expect.stringMatching(new RegExp(`^(?!.*ghp_0123).*${why}`, "s")) };
    await expect(sealedSecrets(place)).rejects.toMatchObject(failure);
    await expect(set("a/b", "another-value")).rejects.toMatchObject(failure);
    expect(readFileSync(place.file).equals(before)).toBe(true);
  });

  it("notices a changed byte, wherever it is", async () => {
    await set("github/token", "ghp_0123456789");
    const whole = readFileSync(place.file);
    for (let i = 0; i < whole.length; i += 5) {
      const changed = Buffer.from(whole);
      changed[i] = (changed[i] ?? 0) ^ 0x01;
      writeFileSync(place.file, changed);
      await expect(openSealed(place), `byte ${i}`).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:secrets_key|config)_invalid$/),
        message: expect.stringMatching(/was not sealed with the key|it was cut short or changed/),
      });
    }
  });

  it("refuses a link as file and as key, and what is sealed but not ours", async () => {
    await set("github/token", "ghp_0123456789");
    const elsewhere = { ...place, file: `${place.file}.link` };
    symlinkSync(place.file, elsewhere.file);
    await expect(openSealed(elsewhere)).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("cannot be read (ELOOP)"),
    });
    const other = { ...place, keyFile: `${place.keyFile}.link` };
    symlinkSync(place.keyFile, other.keyFile);
    await expect(openSealed(other)).rejects.toMatchObject({ code: "secrets_key_invalid" });
    const sealer = new Encrypter();
    const [identity = ""] = readFileSync(place.keyFile, "utf8").match(/^AGE-SECRET-KEY-1\S+$/m) ?? [];
    sealer.addRecipient(await identityToRecipient(identity));
    for (const text of [
      "null",
      "[]",
      '{"version":2}',
      '{"version":1,"secrets":[["a/b/c","x"]]}',
      '{"version":1,"secrets":[["a",1]]}',
      "leaked-text",
    ]) {
      writeFileSync(place.file, await sealer.encrypt(text));
      const failure = {
        code: "config_invalid",
        message: expect.stringMatching(/^(?!.*leaked-text).*its content is not secrets of Postern/s),
      };
      await expect(openSealed(place), text).rejects.toMatchObject(failure);
    }
  });
});

describe("a store over the sealed file", () => {
  it("sees what is set, replaced and removed while it is open", async () => {
    const secrets = await sealedSecrets(place);
    await expect(secrets.get("a", "b")).rejects.toMatchObject({
      code: "secret_missing",
      message: "There is no secret `a/b`; run `postern secrets set a b`.",
    });
    await set("a/b", "first-value");
    expect((await secrets.get("a", "b")).reveal()).toBe("first-value");
    await set("a/b", "other-value");
    expect((await secrets.get("a", "b")).reveal()).toBe("other-value");
    await changeSealed(place, () => new Map());
    await expect(secrets.get("a", "b")).rejects.toMatchObject({ code: "secret_missing" });
  });

  it("fails while the file is broken, and works again when it is put back", async () => {
    await set("a/b", "first-value");
    const secrets = await sealedSecrets(place);
    copyFileSync(place.file, `${place.file}.copy`);
    writeFileSync(place.file, "broken");
    await expect(secrets.get("a", "b")).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("it was cut short or changed"),
    });
    copyFileSync(`${place.file}.copy`, place.file);
    expect((await secrets.get("a", "b")).reveal()).toBe("first-value");
  });

  it("makes every value and its own key known to the redactor, borrowed or not", async () => {
    await set("a/b", "first-value");
    const redactor = createRedactor();
    await sealedSecrets({ ...place, redactor });
    expect(redactor.finds("it was first-value")).toBe(true);
    expect(redactor.finds(readFileSync(place.keyFile, "utf8"))).toBe(true);
  });
});
