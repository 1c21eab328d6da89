import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { callFault, isConnectionLost, reasonOf } from "./sdk-faults.ts";

const fetchFailed = (code: string): TypeError =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(`connect ${code}`), { code }) });
const http = (status: number, text = ""): SdkHttpError =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "no", {
    status,
    statusText: "",
    text,
  });

const onWire = (more: object = {}) => ({
  ...{ sent: true, hasSession: true, refused: undefined, unreadable: undefined, resetsAt: undefined, asText: [] },
  ...more,
});

it.each([
  ["an error before anything was sent", new Error("no such header"), false],
  ["a client that is not connected", new Error("Not connected"), true],
  ["a connection that was refused", fetchFailed("ECONNREFUSED"), true],
  ["a name that does not exist", new Error("again", { cause: fetchFailed("ENOTFOUND") }), true],
  ["a session that is gone", http(404), true],
  ["a session that is gone for good", http(410), true],
  ["a session that is not known", http(400, "Bad Request: No valid session ID provided"), true],
  ["too many requests", http(429), true],
])("%s may be tried again", (_what, error, sent) => {
  expect(callFault("t", error, onWire({ sent }))).toMatchObject({ retryable: true, notExecuted: true });
  expect(callFault("t", error, onWire({ sent }))).not.toHaveProperty("unknown");
});

it.each([
  ["a closed connection", new SdkError(SdkErrorCode.ConnectionClosed, "Connection closed")],
  ["a timeout", new SdkError(SdkErrorCode.RequestTimeout, "Request timed out")],
  ["a connection that broke", fetchFailed("ECONNRESET")],
  ["a gateway that failed", http(502)],
  ["an answer nobody can read", new SdkError(SdkErrorCode.InvalidResult, "bad")],
  ["an abort", new DOMException("aborted", "AbortError")],
])("%s after it was sent is unknown (case 158)", (_what, error) => {
  expect(callFault("t", error, onWire())).toMatchObject({ unknown: true });
  expect(callFault("t", error, onWire())).not.toHaveProperty("retryable");
});

it.each([["a server that forbids it", http(403), "refused the call (HTTP 403)"]])(
  "%s has failed the call (case 244)",
  (_what, error, message) => {
    const fault = callFault("t", error, onWire());
    expect(fault.message).toContain(message);
    expect(fault).not.toHaveProperty("unknown");
    expect(fault).not.toHaveProperty("retryable");
  },
);

it("a server is gone when it cannot be reached or forgot the session, not when it is slow or says no", () => {
  expect([fetchFailed("ECONNREFUSED"), fetchFailed("ECONNRESET"), http(404)].map(isConnectionLost)).toEqual([
    true,
    true,
    true,
  ]);
  expect(
    [http(500), http(403), new ProtocolError(-32_603, "boom"), new SdkError(SdkErrorCode.RequestTimeout, "slow")].map(
      isConnectionLost,
    ),
  ).toEqual([false, false, false, false]);
});

it("a message says what lies beneath it", () => {
  expect(reasonOf(fetchFailed("ECONNREFUSED"))).toBe("fetch failed (connect ECONNREFUSED)");
  expect(reasonOf(null)).toBe("null");
});
