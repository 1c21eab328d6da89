import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { isSignedBy, keyFrom, sign } from "./signature.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const key = keyFrom(secret) ?? Buffer.alloc(0);
const signed = { id: "msg_1", timestamp: Math.floor(Date.now() / 1000), body: '{"type":"approval.requested"}' };

describe("signatures", () => {
  it("are accepted by the Standard Webhooks library", () => {
    const headers = {
      "webhook-id": signed.id,
      "webhook-timestamp": String(signed.timestamp),
      "webhook-signature": sign(key, signed),
    };
    expect(new Webhook(secret).verify(signed.body, headers)).toEqual({ type: "approval.requested" });
    expect(() => new Webhook(secret).verify(`${signed.body} `, headers)).toThrow();
  });

  it("of that library are accepted, alone or beside others", () => {
    const theirs = new Webhook(secret).sign(signed.id, new Date(signed.timestamp * 1000), signed.body);
    expect(isSignedBy(key, signed, theirs)).toBe(true);
    expect(isSignedBy(key, signed, `v1,${randomBytes(32).toString("base64")} ${theirs}`)).toBe(true);
  });

  it.each([
    ["another id", { ...signed, id: "msg_2" }],
    ["another time", { ...signed, timestamp: signed.timestamp + 1 }],
    ["another body", { ...signed, body: "{}" }],
  ])("do not fit %s", (_, other) => {
    expect(isSignedBy(key, other, sign(key, signed))).toBe(false);
  });

  it.each(["", "v1,", "v1", "v2,AAAA", "v1,not base64", " ".repeat(10_000)])("are not `%s`", (header) => {
    expect(isSignedBy(key, signed, header)).toBe(false);
  });

  it("need a key of 24 bytes", () => {
    expect(keyFrom("short")).toBeUndefined();
    expect(keyFrom(`whsec_${randomBytes(16).toString("base64")}`)).toBeUndefined();
    expect(keyFrom("a plain text of more than 24 bytes")?.length).toBe(34);
  });
});
