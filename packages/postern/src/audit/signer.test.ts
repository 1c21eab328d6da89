import { generateKeyPairSync, verify } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { signCheckpoint } from "./checkpoint.ts";
import { openCheckpoint, readVerifierKey } from "./note.ts";
import { createSigner, loadSigner } from "./signer.ts";
import { trustedKey } from "./verify.ts";

const root = "ab".repeat(32);
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-audit-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("a signed checkpoint", () => {
  it("is a C2SP note: origin, size and root, then a blank line and the signature", () => {
    const signer = createSigner();
    const lines = signCheckpoint(signer, 42, root).split("\n");
    expect(lines.slice(0, 4)).toEqual([signer.origin, "42", Buffer.from(root, "hex").toString("base64"), ""]);
    expect(lines[4]).toMatch(new RegExp(`^— ${signer.origin} [A-Za-z0-9+/]{91}=$`));
    expect(lines.slice(5)).toEqual([""]);
  });

  it("is opened only by its own key, and only unchanged", () => {
    const signer = createSigner();
    const key = trustedKey(signer.publicKey);
    const note = signCheckpoint(signer, 42, root);
    expect(openCheckpoint(note, key)).toEqual({ size: 42, root });
    expect(openCheckpoint(note, trustedKey(createSigner().publicKey))).toBeUndefined();
    for (let i = 0; i < note.length; i += 1) {
      const other = note[i] === "A" ? "B" : "A";
      expect(openCheckpoint(note.slice(0, i) + other + note.slice(i + 1), key)).toBeUndefined();
    }
  });

  it("of another log is refused, even with the same key", () => {
    const signer = createSigner();
    const other = { ...signer, origin: "postern/other" };
    const renamed = signCheckpoint(other, 7, root).replace("— postern/other ", `— ${signer.origin} `);
    expect(openCheckpoint(renamed, trustedKey(signer.publicKey))).toBeUndefined();
  });

  it("may carry signatures of others", () => {
    const signer = createSigner();
    const note = signCheckpoint(signer, 7, root);
    const witness = "— witness.example/w AAAA\n";
    expect(openCheckpoint(note + witness, trustedKey(signer.publicKey))?.size).toBe(7);
  });

  it("reads keys and signatures as Go's sumdb/note writes them", () => {
    const key = readVerifierKey("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW");
    const text =
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const signature = Buffer.from(
      "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
      "base64",
    );
    expect(signature.subarray(0, 4)).toEqual(key?.hint);
    expect(key && verify(null, Buffer.from(text), key.key, signature.subarray(4))).toBe(true);
  });

  it.each(["", "a+b+c", "name+00000000+AAAA", "x".repeat(500)])("takes no key that is none: %j", (text) => {
    expect(readVerifierKey(text)).toBeUndefined();
    expect(() => trustedKey(text)).toThrow("is not a public key of an audit log");
  });
});

const refusedAs = (why: string): object => ({ code: "config_invalid", message: expect.stringContaining(why) });

describe("a log's key", () => {
  it("is made once, readable only by its owner, and found again", async () => {
    const data = join(folder, "data");
    const first = await loadSigner(data);
    const again = await loadSigner(data);
    expect(again.publicKey).toBe(first.publicKey);
    expect((await stat(join(data, "audit.key"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(data, "audit.pub"), "utf8")).toBe(`${first.publicKey}\n`);
    const key = trustedKey(first.publicKey);
    expect(openCheckpoint(signCheckpoint(again, 1, root), key)).toEqual({ size: 1, root });
  });

  it("is one key if two processes start at once", async () => {
    const signers = await Promise.all([loadSigner(folder), loadSigner(folder), loadSigner(folder)]);
    expect(new Set(signers.map(({ publicKey }) => publicKey)).size).toBe(1);
  });

  it("is made private if it was readable by others", async () => {
    await loadSigner(folder);
    await chmod(join(folder, "audit.key"), 0o644);
    await loadSigner(folder);
    expect((await stat(join(folder, "audit.key"))).mode & 0o777).toBe(0o600);
  });

  it("is reported with the error of the system if it cannot be read", async () => {
    await mkdir(join(folder, "audit.key"));
    await expect(loadSigner(folder)).rejects.toMatchObject({ code: "EISDIR" });
  });

  it("is never replaced silently", async () => {
    const { publicKey } = await loadSigner(folder);
    const pem = await readFile(join(folder, "audit.key"), "utf8");
    await rm(join(folder, "audit.key"));
    await expect(loadSigner(folder)).rejects.toMatchObject(refusedAs("is missing, and `"));
    await writeFile(join(folder, "audit.key"), "no key");
    await expect(loadSigner(folder)).rejects.toMatchObject(refusedAs("cannot be used: "));
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    await writeFile(join(folder, "audit.key"), rsa.export({ format: "pem", type: "pkcs8" }));
    await expect(loadSigner(folder)).rejects.toThrow("it is not an Ed25519 key");
    await writeFile(join(folder, "audit.key"), pem);
    expect((await loadSigner(folder)).publicKey).toBe(publicKey);
    await writeFile(join(folder, "audit.pub"), createSigner().publicKey);
    await expect(loadSigner(folder)).rejects.toMatchObject(refusedAs("is not the public key of"));
  });
});

describe("the key that the environment gives", () => {
  it("signs instead of a key of the folder, and the folder publishes it", async () => {
    const { publicKey } = await loadSigner(join(folder, "other"));
    const environment = { POSTERN_AUDIT_KEY: await readFile(join(folder, "other", "audit.key"), "utf8") };
    const data = join(folder, "data");
    expect((await loadSigner(data, environment)).publicKey).toBe(publicKey);
    expect((await loadSigner(data, environment)).publicKey).toBe(publicKey);
    expect(await readdir(data)).toEqual(["audit.pub"]);
    expect(await readFile(join(data, "audit.pub"), "utf8")).toBe(`${publicKey}\n`);
  });

  it("is refused if the folder's log was signed with another one", async () => {
    await loadSigner(join(folder, "data"));
    await loadSigner(join(folder, "other"));
    const environment = { POSTERN_AUDIT_KEY_FILE: join(folder, "other", "audit.key") };
    await expect(loadSigner(join(folder, "data"), environment)).rejects.toMatchObject(
      refusedAs("this folder's log was signed with another key"),
    );
  });
});
