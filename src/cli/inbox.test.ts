import { describe, expect, it } from "vitest";
import { anApproval } from "../../test/fakes/stub-runtime.ts";
import type { ApprovalView } from "../server/contract/approvals.ts";
import { shownApproval } from "../server/http/approval-view.ts";
import { emptyInbox, type Inbox, type KeyResult, press, type Sight, withRequests as withPage } from "./inbox.ts";
import { inboxScreen } from "./inbox-screen.ts";
import { keyOf } from "./keys.ts";

const now = Date.UTC(2026, 10, 20);
const request = (id: string, more: Partial<ApprovalView> = {}): ApprovalView => ({
  ...shownApproval({ ...anApproval(), id }),
  ...more,
});
/** A second after whatever was shown, with all of the card in sight. */
const quiet: Sight = { at: now + 1_000, columns: 80, lines: 10, height: 20 };
const screenOf = (rows: number, columns = 80) => ({
  ...{ paint: (_: string, text: string) => text, terminal: { columns, rows } },
});

function withRequests(inbox: Inbox, requests: readonly ApprovalView[], at = now): Inbox {
  return withPage(inbox, { requests, waiting: requests.length }, at);
}
const three = withRequests(emptyInbox, [request("apr_1"), request("apr_2"), request("apr_3")]);

/** One after the other, each as it comes from a terminal. */
function type(inbox: Inbox, ...chunks: readonly string[]): KeyResult {
  return chunks.reduce<KeyResult>(
    (before, chunk, i) => {
      const key = keyOf(chunk);
      return key === undefined ? before : press(before.inbox, key, { ...quiet, at: quiet.at + i * 1_000 });
    },
    { inbox },
  );
}

/** The same, without a pause between any of them. */
function typeFast(inbox: Inbox, at: number, ...chunks: readonly string[]): KeyResult {
  return chunks.reduce<KeyResult>(
    (before, chunk) => {
      const key = keyOf(chunk);
      return key === undefined ? before : press(before.inbox, key, { ...quiet, at });
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
    expect(pressed.request).toMatchObject({ verb: "approve", approval: { approval_id: "apr_2" } });
    const again = type(pressed.inbox, "a");
    expect(again.request).toBeUndefined();
    expect(again.inbox.message).toContain("Nothing is selected");
  });

  it("denies with a reason that is typed, or none", () => {
    const denied = type(three, "d", "n", "o", "x", "\u007f", "\r");
    expect(denied.request).toMatchObject({ verb: "deny", reason: "no", approval: { approval_id: "apr_1" } });
    expect(type(three, "d", "\r").request).toMatchObject({ verb: "deny", reason: "" });
    expect(type(three, "d", "n", "\u001b").request).toBeUndefined();
  });

  it.each([
    ["critical", request("apr_1", { risk_level: "critical" })],
    ["routed so", request("apr_1", { routed: { ...request("x").routed, typed_confirmation: true } })],
  ])("never approves what is %s by a single key, but by its tool's name", (_, one) => {
    const inbox = withRequests(emptyInbox, [one]);
    expect(type(inbox, "a").request).toBeUndefined();
    expect(type(inbox, "a", "\r").request).toBeUndefined();
    expect(type(inbox, "a", ..."mai", "\r").request).toBeUndefined();
    expect(type(inbox, "a", "mail", "\r").request).toBeUndefined();
    expect(type(inbox, "a", ..."mail", "\r").request).toMatchObject({ verb: "approve", confirmation: "mail" });
  });

  it("decides nothing by a paste, nor by keys it does not know", () => {
    for (const chunk of ["aaaa", "\u001b[200~a\u001b[201~", "\u0001", "A", "y", "\r", "é"])
      expect(type(three, chunk).request).toBeUndefined();
  });

  it("looks at nothing after the one that was went away, so that no key falls on another", () => {
    const gone = withRequests(three, [request("apr_2"), request("apr_3")]);
    expect(gone).toMatchObject({ selected: undefined, message: expect.stringContaining("over") });
    expect(type(gone, "a").request).toBeUndefined();
    const edited = withRequests(three, [request("apr_1", { shown_digest: "f".repeat(64) })]);
    expect(edited).toMatchObject({ selected: undefined, message: expect.stringContaining("changed") });
  });

  it("selects nothing that comes later by itself, also into an empty list", () => {
    const later = withRequests(withRequests(emptyInbox, []), [request("apr_1")]);
    expect(later.selected).toBeUndefined();
    expect(type(later, "a").request).toBeUndefined();
    expect(type(later, "j").inbox.selected).toBe("apr_1");
  });

  it("drops what is being typed when its request goes away", () => {
    const typing = type(withRequests(emptyInbox, [request("apr_1", { risk_level: "critical" })]), "a", ..."mai").inbox;
    const gone = withRequests(typing, []);
    expect(gone.typing).toBeUndefined();
    expect(type(gone, "l", "\r").request).toBeUndefined();
  });

  it("keeps looking at the same one when others come", () => {
    const more = withRequests(three, [request("apr_0", { expires_at: "2026-11-20T00:00:10.000Z" }), ...three.requests]);
    expect(more.selected).toBe("apr_1");
  });

  it.each(["q", "\u0003", "\u0004"])("leaves with %j", (chunk) => {
    expect(type(three, chunk).request).toEqual({ verb: "leave" });
  });

  it("shows what strangers say as what it is, and only so many lines", () => {
    const many = Array.from({ length: 50 }, (_, at) =>
      request(`apr_${String(at).padStart(2, "0")}`, {
        what: { tool: "\u001b[2Jmail", action: "default", arguments: { to: "\u202eevil" } },
      }),
    );
    const { text } = inboxScreen(withRequests(emptyInbox, many), now, screenOf(60));
    expect(text).not.toContain("\u001b");
    expect(text).not.toContain("\u202e");
    expect(text).toContain("1 to 12 of 50");
    expect(text.split("\n").length).toBeLessThan(40);
  });

  it("takes no key that decides for a second after what is looked at was selected: also not the next one's after a decision", () => {
    const approved = typeFast(three, quiet.at, "a");
    expect(approved.request).toMatchObject({ verb: "approve", approval: { approval_id: "apr_1" } });
    const hostile = withRequests(approved.inbox, [request("hostile"), request("apr_2")], quiet.at + 100);
    for (const keys of [
      ["j", "a"],
      ["j", "d", "\r"],
      ["k", "a"],
    ]) {
      const early = typeFast(hostile, quiet.at + 200, ...keys);
      expect(early.request).toBeUndefined();
      expect(early.inbox).toMatchObject({ typing: undefined, message: expect.stringContaining("just appeared") });
    }
    const looking = typeFast(hostile, quiet.at + 200, "j").inbox;
    expect(typeFast(looking, quiet.at + 1_199, "a").request).toBeUndefined();
    expect(typeFast(looking, quiet.at + 1_200, "a").request).toMatchObject({ approval: { approval_id: "hostile" } });
  });

  it("begins that second anew with every press that came too early", () => {
    const looking = typeFast(three, now + 500, "j").inbox;
    const early = typeFast(looking, now + 1_400, "a").inbox;
    expect(typeFast(early, now + 2_300, "a").request).toBeUndefined();
    expect(typeFast(early, now + 2_400, "a").request).toMatchObject({ approval: { approval_id: "apr_2" } });
  });

  it("says on the screen which keys work, and that the others do in a second", () => {
    expect(inboxScreen(three, now + 999, screenOf(60)).text).toContain("it has just appeared: a and d in a second");
    expect(inboxScreen(three, now + 1_000, screenOf(60)).text).toContain("a approve once · d deny");
  });

  it("looks at nothing after others decide it, or more is demanded of who does, while its arguments stay", () => {
    const routed = { ...request("x").routed, quorum: 3 };
    expect(withRequests(three, [request("apr_1", { routed })])).toMatchObject({
      selected: undefined,
      message: expect.stringContaining("changed"),
    });
  });

  it("counts what the store counts, not what it was sent", () => {
    const inbox = withPage(emptyInbox, { requests: three.requests, waiting: 4_321 }, now);
    expect(inboxScreen(inbox, now, screenOf(60)).text).toContain("4321 waiting, the 3 most urgent here");
    expect(inboxScreen(three, now, screenOf(60)).text).toContain("3 waiting");
  });
});

describe("a card that is longer than the screen", () => {
  const long = Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n");
  const one = request("apr_1", {
    what: { tool: "mail", action: "default", arguments: { script: `${long}\nrm -rf /` } },
  });
  const screen = screenOf(40);
  /** As a session does: draws, and holds the key against what was drawn. */
  const sit = (inbox: Inbox, chunk: string, of = screen): KeyResult => {
    const { sight } = inboxScreen(inbox, now, of);
    const key = keyOf(chunk);
    return key === undefined ? { inbox } : press(inbox, key, { ...sight, at: quiet.at });
  };
  const first = withRequests(emptyInbox, [one]);

  it("is approved only when all of it was in sight, and says with which keys that is", () => {
    expect(inboxScreen(first, now, screen).text).not.toContain("rm -rf /");
    expect(inboxScreen(first, now, screen).text).toMatch(/lines 1 to \d+ of \d+ · \d+ more below: space shows them/);
    const refused = sit(first, "a");
    expect(refused).toMatchObject({ inbox: { message: expect.stringContaining("space shows more") } });
    expect(refused.request).toBeUndefined();
    let read = first;
    while (!inboxScreen(read, now, screen).text.includes("rm -rf /")) {
      expect(sit(read, "a").request).toBeUndefined();
      read = sit(read, " ").inbox;
    }
    expect(sit(read, "a").request).toMatchObject({ verb: "approve" });
    expect(sit(sit(read, "b").inbox, "a").request).toMatchObject({ verb: "approve" });
  });

  it("is denied without that", () => {
    expect(sit(first, "d").inbox.typing).toMatchObject({ for: "deny" });
  });

  it("is read anew on a screen of another width", () => {
    let read = first;
    for (let i = 0; i < 10; i += 1) read = sit(read, " ").inbox;
    expect(sit(read, "a").request).toBeDefined();
    expect(sit(read, "a", screenOf(40, 60)).request).toBeUndefined();
  });

  it.each([0, 5, 24, 200])("shows every line of it somewhere on %j rows", (rows) => {
    const of = screenOf(rows);
    const seen = new Set<string>();
    let read = first;
    for (let i = 0; i < 60; i += 1) {
      for (const line of inboxScreen(read, now, of).text.split("\n")) seen.add(line.trim());
      read = sit(read, " ", of).inbox;
    }
    for (let i = 0; i < 60; i += 1) expect([...seen].some((line) => line.endsWith(` line ${i}`))).toBe(true);
    expect(sit(read, "a", of).request).toMatchObject({ verb: "approve" });
  });
});
