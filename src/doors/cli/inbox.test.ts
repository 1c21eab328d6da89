import { describe, expect, it } from "vitest";
import { anApproval } from "../../../test/fakes/stub-runtime.ts";
import { type ApprovalWire, approvalToWire } from "../wire-approvals.ts";
import { emptyInbox, type Inbox, type Pressed, press, withRequests } from "./inbox.ts";
import { inboxScreen } from "./inbox-screen.ts";
import { keyOf } from "./keys.ts";

const now = Date.UTC(2026, 10, 20);
const request = (id: string, more: Partial<ApprovalWire> = {}): ApprovalWire => ({
  ...approvalToWire({ ...anApproval(), id }),
  ...more,
});
const three = withRequests(emptyInbox, [request("apr_1"), request("apr_2"), request("apr_3")]);

/** One after the other, each as it comes from a terminal. */
function type(inbox: Inbox, ...chunks: readonly string[]): Pressed {
  return chunks.reduce<Pressed>(
    (before, chunk) => {
      const key = keyOf(chunk);
      return key === undefined ? before : press(before.inbox, key);
    },
    { inbox },
  );
}

describe("the inbox at a terminal", () => {
  it("looks at the first, and moves with j and k or the arrows, not beyond the ends", () => {
    expect(three.selected).toBe("apr_1");
    expect(type(three, "j").inbox.selected).toBe("apr_2");
    expect(type(three, "j", "\u001b[B", "j", "j").inbox.selected).toBe("apr_3");
    expect(type(three, "j", "k", "k", "\u001b[A").inbox.selected).toBe("apr_1");
  });

  it("keeps the order the runtime lists them in, and looks at the most urgent first", () => {
    const inbox = withRequests(emptyInbox, [
      request("critical", { expires_at: "2026-11-20T00:01:59.000Z" }),
      request("high", { expires_at: "2026-11-20T00:01:00.000Z" }),
    ]);
    expect(inbox.requests.map(({ approval_id: id }) => id)).toEqual(["critical", "high"]);
    expect(inbox.selected).toBe("critical");
  });

  it("approves the one that is looked at with a, and then looks at none until the person moves", () => {
    const pressed = type(three, "j", "a");
    expect(pressed.wish).toMatchObject({ wish: "approve", request: { approval_id: "apr_2" } });
    const again = type(pressed.inbox, "a");
    expect(again.wish).toBeUndefined();
    expect(again.inbox.message).toContain("Nothing is selected");
  });

  it("denies with a reason that is typed, or none", () => {
    const denied = type(three, "d", "n", "o", "x", "\u007f", "\r");
    expect(denied.wish).toMatchObject({ wish: "deny", reason: "no", request: { approval_id: "apr_1" } });
    expect(type(three, "d", "\r").wish).toMatchObject({ wish: "deny", reason: "" });
    expect(type(three, "d", "n", "\u001b").wish).toBeUndefined();
  });

  it.each([
    ["critical", request("apr_1", { risk_level: "critical" })],
    ["routed so", request("apr_1", { routed: { ...request("x").routed, typed_confirmation: true } })],
  ])("never approves what is %s by a single key, but by its tool's name", (_, one) => {
    const inbox = withRequests(emptyInbox, [one]);
    expect(type(inbox, "a").wish).toBeUndefined();
    expect(type(inbox, "a", "\r").wish).toBeUndefined();
    expect(type(inbox, "a", ..."mai", "\r").wish).toBeUndefined();
    expect(type(inbox, "a", "mail", "\r").wish).toBeUndefined();
    expect(type(inbox, "a", ..."mail", "\r").wish).toMatchObject({ wish: "approve", confirmation: "mail" });
  });

  it("decides nothing by a paste, nor by keys it does not know", () => {
    for (const chunk of ["aaaa", "\u001b[200~a\u001b[201~", "\u0001", "A", "y", "\r", "é"])
      expect(type(three, chunk).wish).toBeUndefined();
  });

  it("looks at nothing after the one that was went away, so that no key falls on another", () => {
    const gone = withRequests(three, [request("apr_2"), request("apr_3")]);
    expect(gone).toMatchObject({ selected: undefined, message: expect.stringContaining("over") });
    expect(type(gone, "a").wish).toBeUndefined();
    const edited = withRequests(three, [request("apr_1", { shown_digest: "f".repeat(64) })]);
    expect(edited).toMatchObject({ selected: undefined, message: expect.stringContaining("changed") });
  });

  it("selects nothing that comes later by itself, also into an empty list", () => {
    const later = withRequests(withRequests(emptyInbox, []), [request("apr_1")]);
    expect(later.selected).toBeUndefined();
    expect(type(later, "a").wish).toBeUndefined();
    expect(type(later, "j").inbox.selected).toBe("apr_1");
  });

  it("drops what is being typed when its request goes away", () => {
    const typing = type(withRequests(emptyInbox, [request("apr_1", { risk_level: "critical" })]), "a", ..."mai").inbox;
    const gone = withRequests(typing, []);
    expect(gone.typing).toBeUndefined();
    expect(type(gone, "l", "\r").wish).toBeUndefined();
  });

  it("keeps looking at the same one when others come", () => {
    const more = withRequests(three, [request("apr_0", { expires_at: "2026-11-20T00:00:10.000Z" }), ...three.requests]);
    expect(more.selected).toBe("apr_1");
  });

  it.each(["q", "\u0003", "\u0004"])("leaves with %j", (chunk) => {
    expect(type(three, chunk).wish).toEqual({ wish: "leave" });
  });

  it("shows what strangers say as what it is, and only so many lines", () => {
    const many = Array.from({ length: 50 }, (_, at) =>
      request(`apr_${String(at).padStart(2, "0")}`, {
        what: { tool: "\u001b[2Jmail", action: "default", arguments: { to: "\u202eevil" } },
      }),
    );
    const text = inboxScreen(withRequests(emptyInbox, many), now, 80, (_, plain) => plain);
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    expect(text).toContain("1 to 12 of 50");
    expect(text.split("\n").length).toBeLessThan(40);
  });
});
